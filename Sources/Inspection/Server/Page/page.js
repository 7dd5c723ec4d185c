"use strict";

// The stream of events of the store and of the cache whose rows are shown. A hidden page closes it, because browsers allow only a
// few connections to a server.
let events;

// Parses "#rows=NAME" or "#cache=NAME". Any other address is the overview.
function readAddress() {
  const [, kind, text] = /^#(rows|cache)=(.*)$/.exec(location.hash) ?? [];
  try {
    const name = text && decodeURIComponent(text);
    return { rows: kind === "rows" ? name : undefined, card: kind === "cache" ? name : undefined };
  } catch { return {}; }
}
let address = readAddress();

const storeTitle = document.title;

function listen(isAgain) {
  events?.close();
  events = new EventSource(address.rows === undefined ? "events" : `events?cache=${encodeURIComponent(address.rows)}`);
  const on = (kind, work) => events.addEventListener(kind, event => work(JSON.parse(event.data)));
  on("problem", ({ sentence }) => showProblem(sentence));
  on("caches", update => overview.update(update));
  on("store", () => overview.refreshStore());
  on("rows", change => browser.changed(change).catch(error => browser.fail(error)));
  events.onerror = () => showProblem("fetchindex browse does not answer. If it has ended, start it again, and open the address that it prints.");
  events.onopen = () => {
    showProblem();
    // Events during the interruption may have been lost.
    if (isAgain) {
      overview.refreshStore();
      if (browser.name !== undefined) browser.read();
    }
    isAgain = true;
  };
}

async function route() {
  const left = browser.name;
  address = readAddress();
  if (address.rows === undefined) browser.close();
  listen(false);
  if (address.rows !== undefined) await browser.open(address.rows); else overview.show(address.card ?? left);
}

addEventListener("hashchange", route);
document.addEventListener("visibilitychange", () => { if (document.hidden) events.close(); else listen(true); });
route();
