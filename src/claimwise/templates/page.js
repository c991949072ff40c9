// The page reads the same without this. Opening a claim marks its evidence in the document beside it.
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

// j and k go to the next and the previous example, in the order in which they are shown.
document.addEventListener("keydown", (event) => {
  const step = { j: 1, k: -1 }[event.key];
  if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
  const top = new Map();
  for (const article of document.querySelectorAll("article"))
    if (article.offsetParent) top.set(article, article.getBoundingClientRect().top);
  const shown = [...top.keys()].sort((a, b) => top.get(a) - top.get(b));
  const next = shown[shown.indexOf(document.activeElement.closest("article")) + step];
  if (!next) return;
  next.scrollIntoView();
  next.focus({ preventScroll: true });
});
