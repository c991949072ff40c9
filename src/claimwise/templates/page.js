// The page reads the same without this, with all claims open. It has one listener a kind, whatever the number of claims.
document.documentElement.classList.add("scripted");

// Opening a claim marks its evidence in the document beside it, and closes the example's other one.
function toggle(claim) {
  const item = claim.parentElement;
  const article = item.closest("article");
  const opens = !item.classList.contains("open");
  for (const open of article.querySelectorAll("li.open")) {
    open.classList.remove("open");
    open.firstElementChild.setAttribute("aria-expanded", "false");
  }
  for (const mark of article.querySelectorAll(".document mark")) mark.replaceWith(...mark.childNodes);
  if (!opens) return;
  item.classList.add("open");
  claim.setAttribute("aria-expanded", "true");
  item.dataset.evidence.split(" ").filter(Boolean).forEach((number, rank) => {
    const sentence = article.querySelector(`[data-sentence="${number}"]`);
    const mark = document.createElement("mark");
    mark.append(...sentence.childNodes);
    sentence.append(mark);
    const box = sentence.closest(".document");
    if (rank === 0) box.scrollTop = sentence.offsetTop - box.offsetTop - box.clientHeight / 3;
  });
}

// An example's least supported claim is open at first, from when the browser draws it: a thousand at once would take long.
document.addEventListener("contentvisibilityautostatechange", ({ target, skipped }) => {
  const first = target.querySelector("[data-first]");
  if (skipped || !first) return;
  first.removeAttribute("data-first");
  if (!target.querySelector("li.open")) toggle(first.firstElementChild);
}, true);

document.addEventListener("click", (event) => {
  const claim = event.target.closest(".claim");
  if (claim && getSelection().isCollapsed) toggle(claim); // words may be selected to copy them
});

// The examples that hold all of these words, in id, system, summary or document.
function search() {
  const field = document.getElementById("find");
  if (!field) return;
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const article of document.querySelectorAll("article")) {
    const texts = [...article.querySelectorAll("h2, .system, .text")].map((part) => part.textContent.toLowerCase());
    article.hidden = !words.every((word) => texts.some((text) => text.includes(word)));
    found += article.checkVisibility(); // what another filter hides is not found
  }
  document.querySelector("output").value = words.length ? `${found} found` : "";
}
document.addEventListener("input", search);

document.addEventListener("keydown", (event) => {
  if (event.target.matches("#find") || event.ctrlKey || event.metaKey || event.altKey) return;
  if ((event.key === "Enter" || event.key === " ") && event.target.matches(".claim")) {
    event.preventDefault(); // the space would scroll
    toggle(event.target);
    return;
  }
  // j and k go to the next and the previous example, in the order in which they are shown.
  const step = { j: 1, k: -1 }[event.key];
  if (!step) return;
  const top = new Map();
  for (const article of document.querySelectorAll("article"))
    if (article.offsetParent) top.set(article, article.getBoundingClientRect().top);
  const shown = [...top.keys()].sort((a, b) => top.get(a) - top.get(b));
  const next = shown[shown.indexOf(document.activeElement.closest("article")) + step];
  if (!next) return;
  next.scrollIntoView();
  next.querySelector("h2").focus({ preventScroll: true });
});
