// Finds sections that hold every word: those with the words in their heading first, then by how often they come.
const field = document.getElementById("search");
const list = document.getElementById("found");
const index = sections.map((section) => ({ ...section, low: section.text.toLowerCase(), title: `${section.heading} ${section.page}`.toLowerCase() }));

function score(section, words) {
  let sum = 0;
  for (const word of words) {
    const count = section.low.split(word).length - 1;
    const titled = section.title.includes(word);
    if (count === 0 && !titled) return 0;
    sum += Math.min(count, 8) + (titled ? 20 : 0);
  }
  return sum;
}

function excerpt(section, word) {
  const at = Math.max(0, section.low.indexOf(word));
  return (at > 40 ? "…" : "") + section.text.slice(Math.max(0, at - 40), at + 90);
}

field.addEventListener("input", () => {
  const words = field.value.toLowerCase().split(/\s+/).filter((word) => word.length > 1);
  const best = words.length === 0 ? [] : index.map((section) => [score(section, words), section]).filter(([points]) => points > 0).sort((a, b) => b[0] - a[0]).slice(0, 12);
  list.hidden = words.length === 0;
  list.replaceChildren(...best.map(([, section]) => {
    const item = document.createElement("li"), link = document.createElement("a"), small = document.createElement("small"), text = document.createElement("p");
    link.href = `${here}/${section.at}`;
    link.textContent = section.heading;
    small.textContent = ` ${section.page}`;
    text.textContent = excerpt(section, words[0]);
    item.append(link, small, text);
    return item;
  }));
  if (best.length === 0 && words.length > 0) list.textContent = "nothing found";
});
