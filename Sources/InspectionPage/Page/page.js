"use strict";

// Events of the store come in one stream, which also names the cache whose rows are shown.
let events;
function listen(name) {
  events?.close();
  events = new EventSource(name === undefined ? "events" : `events?cache=${encodeURIComponent(name)}`);
  const on = (kind, work) => events.addEventListener(kind, event => work(JSON.parse(event.data)));
  on("problem", ({ sentence }) => showProblem(sentence));
  on("caches", update => overview.update(update));
  on("store", () => overview.refreshStore());
  on("rows", change => browser.changed(change).catch(error => browser.fail(error)));
  events.onerror = () => showProblem("The page's program has ended or does not answer: start fetchindex browse again, and open the address that it prints.");
  events.onopen = () => showProblem();
}

async function route() {
  const match = /^#rows=(.*)$/.exec(location.hash);
  const name = match ? decodeURIComponent(match[1]) : undefined;
  if (name === undefined) browser.close();
  listen(name);
  if (name !== undefined) await browser.open(name);
}
addEventListener("hashchange", route);
route();
