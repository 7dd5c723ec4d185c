"use strict";

const part = id => document.getElementById(id);
const grouped = number => number.toLocaleString("en-US");
const counted = (number, noun) => `${grouped(number)} ${noun}${number === 1 ? "" : "s"}`;

// Sends a request to the server. Returns an object if the answer is JSON, otherwise the answer's text. Throws an Error
// for an answer with an error.
async function ask(path, values = {}) {
  const query = Object.entries(values).map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
  const response = await fetch(query ? `${path}?${query}` : path, { cache: "no-store" });
  const isJSON = (response.headers.get("Content-Type") ?? "").includes("json");
  if (!response.ok && !isJSON) throw new Error(`fetchindex browse answered with the status ${response.status}`);
  const answer = isJSON ? await response.json() : await response.text();
  if (answer.error !== undefined) throw new Error(answer.error);
  return answer;
}

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

// Returns a section's name as the page shows it.
const sectionTitle = name => name === undefined ? "no value" : name === "" ? "empty text" : name;

function showProblem(sentence) {
  part("problem").textContent = sentence ?? "";
  part("problem").hidden = !sentence;
}

// Returns a function that runs `work` immediately, but at most once per pause. If it's called during `work` or the
// pause, `work` runs once more afterwards.
function paced(work, pause = 1000) {
  let isBusy = false, isWanted = false;
  const run = async () => {
    if (isBusy) { isWanted = true; return; }
    isBusy = true; isWanted = false;
    try { await work(); } catch { /* the "problem" event tells of a missing store */ }
    setTimeout(() => { isBusy = false; if (isWanted) run(); }, pause);
  };
  return run;
}

let newestSentence = "";
const speakNewest = paced(async () => { part("spoken").textContent = newestSentence; }, 3000);

// Tells a sentence to screen readers: at most one every three seconds. Newer sentences replace waiting ones.
function speak(sentence) {
  newestSentence = sentence;
  speakNewest();
}
