// Opening a claim marks its evidence in the document beside it; the page reads the same without.
document.addEventListener("toggle", (event) => {
  const claim = event.target.closest("li");
  const article = event.target.closest("article");
  if (!claim || !article) return;
  if (event.target.open)
    for (const other of article.querySelectorAll("details[open]")) if (other !== event.target) other.open = false;
  for (const mark of article.querySelectorAll("mark")) mark.replaceWith(...mark.childNodes);
  const open = article.querySelector("details[open]");
  const numbers = open ? open.closest("li").dataset.evidence.split(" ").filter(Boolean) : [];
  numbers.forEach((number, rank) => {
    const sentence = article.querySelector(`[data-sentence="${number}"]`);
    const mark = document.createElement("mark");
    mark.append(...sentence.childNodes);
    sentence.append(mark);
    const box = sentence.closest(".document");
    if (rank === 0) box.scrollTop = sentence.offsetTop - box.offsetTop - box.clientHeight / 3;
  });
}, true);
