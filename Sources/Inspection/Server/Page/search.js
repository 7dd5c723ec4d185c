"use strict";

// The search through the rows of the shown cache. A request may search only a part of the rows.
const search = {
  most: 200,
  // The number of the current search; answers to earlier searches are ignored.
  number: 0,

  close() {
    this.number += 1;
    for (const id of ["found", "searchError", "more"]) part(id).hidden = true;
    for (const id of ["matches", "searchProgress"]) part(id).replaceChildren();
  },

  // Closes the search, and lets the user write the next one.
  leave() {
    this.close();
    part("where").value = "";
    part("where").focus();
  },

  async start(where, from = 0, found = 0, state = undefined) {
    const number = this.number += 1, cache = browser.name, end = found + this.most;
    part("found").hidden = false; part("more").hidden = true; part("searchError").hidden = true;
    if (from === 0) part("matches").replaceChildren();
    try {
      let count;
      do {
        const answer = await ask("search", { cache, where, from, limit: end - found });
        if (this.number !== number) return;
        for (const match of answer.matches) part("matches").append(this.match(match));
        state ??= answer.state;
        found += answer.matches.length; from = answer.next; count = answer.count;
        const changed = answer.state === state ? "" : "; rows have changed meanwhile: search again to find all";
        part("searchProgress").textContent = `${counted(found, "row")} found in ${grouped(from)} of ${grouped(count)}${changed}`;
      } while (from < count && found < end);
      speak(part("searchProgress").textContent);
      part("more").hidden = from >= count;
      part("more").onclick = () => this.start(where, from, found, state);
    } catch (error) {
      if (this.number !== number) return;
      part("searchProgress").textContent = "";
      part("searchError").hidden = false;
      part("searchError").textContent = error.message;
    }
  },

  match(match) {
    const words = [grouped(match.number), ...match.values.filter(value => value !== null)];
    const item = element("li"), button = element("button", "", words.join("  ·  "));
    button.type = "button";
    // The Tab key stops at one match only.
    button.tabIndex = part("matches").hasChildNodes() ? -1 : 0;
    button.onclick = async () => {
      try { button.ariaDisabled = !await browser.show(match.id); } catch (error) { browser.fail(error); }
    };
    item.append(button);
    return item;
  },
};

part("tools").onsubmit = event => {
  event.preventDefault();
  const where = part("where").value.trim(), number = part("rowNumber").value.replaceAll(/[\s,]/g, "");
  if (number && (!where || document.activeElement === part("rowNumber"))) return browser.rows?.show(Number(number));
  if (where) search.start(where); else search.close();
};

// Arrow keys go from match to match.
part("matches").onkeydown = event => {
  const buttons = [...part("matches").querySelectorAll("button")], at = buttons.indexOf(document.activeElement);
  const to = buttons[{ ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key]];
  if (!to) return;
  event.preventDefault();
  for (const button of buttons) button.tabIndex = button === to ? 0 : -1;
  to.focus();
};
part("leave").onclick = () => search.leave();
part("browser").onkeydown = event => { if (event.key === "Escape" && !part("found").hidden) search.leave(); };
