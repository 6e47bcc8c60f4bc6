// SPDX-License-Identifier: Apache-2.0
// What pages say while they wait, where nothing is, and where something is refused; and files that are opened here.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PROGRAMS, emptyBegin } from "./support/scene.mjs";
import { run } from "./support/programs.mjs";
import { searchFor, selection, subjectLine, timelineReady } from "./support/walk.mjs";

/* Of each page without anything to show, words that help. */
const EMPTY = [
  ["/", [/no agent/i, /skein run --service/, /join_token_file/]],
  ["/captures", [/no capture/i]],
  ["/rules", [/no rule/i]],
  ["/policies", [/no polic/i]],
  ["/agents", [/no agent/i, /skein-agent &\s+skein run/, /join_token_file/]],
  ["/loss", [/no |nothing/i]],
  ["/tokens", [/no token/i]],
  ["/join-tokens", [/no (join )?token/i]],
  ["/storage", [/B\b/]],
  ["/events", [/no |nothing|wait/i]],
  ["/audit", [/no |nothing|local|skeind/i]],
  ["/compare", [/captures?/i]],
  ["/open", [/file/i]],
];

async function emptyPagesTeach({ scene, open }) {
  const empty = await emptyBegin(join(scene.folder, "empty"));
  try {
    const tab = await open({}, empty.url);
    for (const [path, words] of EMPTY) {
      await tab.open(path);
      for (const wanted of words) await tab.says(wanted);
      assert.doesNotMatch(await tab.text(), /undefined|NaN|\[object/, path);
    }
  } finally {
    await empty.end();
  }
}

/* The line that the notice about tokens teaches makes the first token, and the notice goes. */
async function firstTokenIsTaught({ scene, open }) {
  const empty = await emptyBegin(join(scene.folder, "first-token"));
  try {
    const tab = await open({}, empty.url);
    await tab.open("/");
    const words = await tab.says(/skein token create NAME --scope admin --collector \S+/);
    const [, ...line] = /skein (token create .* --collector \S+)/.exec(words)[1].replace("NAME", "first").split(" ");
    await run(PROGRAMS.skein, ["token", ...line], { SKEIN_TOKEN: "" });
    tab.expect(/401/);
    await tab.page.reload();
    await tab.page.waitForURL("**/login*");
  } finally {
    await empty.end();
  }
}

/* A window from before a process was recorded: what is stored is evidence from outside of it. */
async function nothingInWindowIsSaid({ scene, open }) {
  const { attached } = (await scene.api("GET", "/processes?selector=service=redis")).items[0];
  const before = (ms) => new Date(Date.parse(attached) - ms).toISOString();
  const capture = await scene.captureTake({ selector: "service=redis", from: before(20000), to: before(10000) });
  const tab = await open();
  await tab.open(`/captures/${capture.capture}`);
  const words = await tab.says(/No recorded event lies in its window[^]*is recorded only since/, tab.page.getByRole("main"));
  assert.match(words, /redis\[\d+\] on \S+ is recorded only since \S+, 10 s after the window's end/);
  assert.equal(await tab.page.getByRole("link", { name: "Timeline", exact: true }).and(tab.page.locator(".first")).count(), 0);
  assert.doesNotMatch(words, /What differs/);
  await tab.page.getByRole("button", { name: "Read it" }).click();
  await tab.says(/What differs/, tab.page.getByRole("main"));
}

/* Of each page of something that is not there, what it says. */
const NOBODY = "0".repeat(32);
const ABSENT = [
  [`/captures/${NOBODY}`, /no such capture/i],
  [`/captures/${NOBODY}/timeline`, /could not be read/i],
  ["/rules/nobody", /no rule of this name/i],
  ["/policies/nobody", /no policy of this name/i],
  [`/processes/${NOBODY}`, /this process is not known/i],
];

async function refusalsAreSaid({ scene, open }) {
  const tab = await open();
  tab.expect(/404/);
  for (const [path, words] of ABSENT) {
    await tab.page.goto(`${tab.origin}${path}`);
    await tab.page.getByRole("main").getByText(words).first().waitFor();
    await tab.settled();
    assert.doesNotMatch(await tab.text(), /undefined|NaN|\[object/, path);
  }
  await tab.open("/no/such/page");
  await tab.says(/no page/i);
}

/* A collector that fails once: the page says why, names the request, and tries again. */
async function failuresPass({ open }) {
  const tab = await open();
  tab.expect(/500/);
  let failing = true;
  await tab.page.route("**/api/v1/captures?*", async (route) => {
    if (!failing) return route.continue();
    return route.fulfill({
      status: 500,
      contentType: "application/problem+json",
      headers: { "X-Request-Id": "made-by-a-test" },
      body: JSON.stringify({ type: "urn:skein:problem:internal", title: "", status: 500, detail: "The index is being made anew; ask again in a minute." }),
    });
  });
  await tab.page.goto(`${tab.origin}/captures`);
  const alert = tab.page.getByRole("alert").first();
  await alert.getByText("The index is being made anew").waitFor();
  await tab.says(/made-by-a-test/, alert);
  failing = false;
  await alert.getByRole("button", { name: /try again|retry/i }).click();
  await tab.page.getByRole("alert").waitFor({ state: "detached" });
  await tab.page.getByRole("link", { name: /redis-ping/ }).first().waitFor();
}

/* What is awaited is said while it is awaited. */
async function waitingIsSaid({ open }) {
  const tab = await open();
  let release;
  const held = new Promise((resolve) => (release = resolve));
  await tab.page.route("**/api/v1/captures?*", async (route) => {
    await held;
    await route.continue();
  });
  await tab.page.goto(`${tab.origin}/captures`);
  await tab.page.getByText(/^Waiting for /).first().waitFor();
  release();
  await tab.settled();
  await tab.page.getByRole("link", { name: /redis-ping/ }).first().waitFor();
}

/* A drop as the browser's own would be; the file's bytes come from the test. */
async function drop(tab, name, bytes) {
  const transfer = await tab.page.evaluateHandle(
    ([file, text]) => {
      const data = new DataTransfer();
      data.items.add(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], file));
      return data;
    },
    [name, bytes.toString("base64")],
  );
  const target = tab.page.getByRole("main").locator("*").first();
  for (const type of ["dragenter", "dragover", "drop"]) await target.dispatchEvent(type, { dataTransfer: transfer });
}

async function fileIsDropped({ scene, open }) {
  const file = join(scene.folder, "dropped.skein");
  await run(PROGRAMS.skein, ["fetch", scene.capture.capture, "-o", file], scene.env);
  const tab = await open();
  const sent = [];
  tab.page.on("request", (request) => request.method() !== "GET" && sent.push(`${request.method()} ${request.url()}`));
  await tab.open("/open");
  await drop(tab, "dropped.skein", await readFile(file));
  await timelineReady(tab);
  await searchFor(tab, "take_from_stock");
  await selection(tab).getByText(await subjectLine("take_from_stock")).first().waitFor();
  await tab.page.getByRole("table", { name: "Processes of the file" }).getByText("shop").first().waitFor();
  assert.deepEqual(sent, [], "nothing is uploaded");
}

async function brokenFileIsSaid({ scene, open }) {
  const file = join(scene.folder, "broken.skein");
  await writeFile(file, "this is no trace\n".repeat(200));
  const tab = await open();
  await tab.open("/open");
  await tab.page.locator('input[type="file"]').setInputFiles(file);
  await tab.page.getByRole("alert").first().waitFor();
  await tab.says(/trace|partition|skein/i, tab.page.getByRole("alert").first());
}

/* Answers that are cut off, of another kind, or empty: each page says so, and stays usable. An exception is a fault. */
const UNREADABLE = ['{"items":[', "null", "{}"];

async function unreadableIsSaid({ scene, open }) {
  const { capture, targets } = scene.capture;
  const paths = ["/", "/captures", `/captures/${capture}`, `/compare?a=${capture}&b=${capture}`, `/processes/${targets[0].process}`, "/rules", "/rules/redis-ping",
    "/policies", "/policies/everything", "/series", "/loss", "/storage", "/agents", "/audit", "/tokens", "/join-tokens"]; // prettier-ignore
  const tab = await open({ viewport: { width: 360, height: 800 } });
  let body = "";
  await tab.page.route("**/api/v1/**", (route) =>
    /\/(whoami|events)\b/.test(route.request().url()) ? route.continue() : route.fulfill({ status: 200, contentType: "application/json", body }));
  for (body of UNREADABLE)
    for (const path of paths) {
      await tab.page.goto(`${tab.origin}${path}`);
      await tab.page.getByRole("alert").first().waitFor().catch(() => assert.fail(`${path} says nothing of the answer ${body}`));
      await tab.settled();
      assert.equal(await tab.page.getByRole("heading", { level: 1 }).count(), 1, `${path}, ${body}`);
      assert.deepEqual(await tab.clipped(), [], `${path}, ${body}`);
    }
}

/* A refusal of 25 KB with marks that turn text round is cut, and shown as text. */
async function longRefusalIsCut({ open }) {
  const tab = await open({ viewport: { width: 360, height: 800 } });
  tab.expect(/500/);
  await tab.page.route("**/api/v1/agents*", (route) =>
    route.fulfill({ status: 500, contentType: "application/problem+json", body: JSON.stringify({ detail: `\u202e<img src=x onerror=alert(1)>${"busy".repeat(6000)}` }) }));
  await tab.page.goto(`${tab.origin}/agents`);
  const alert = tab.page.getByRole("alert").first();
  await alert.getByText("\\u{202e}<img src=x onerror=alert(1)>").waitFor();
  assert.ok((await alert.innerText()).length < 2000);
  assert.deepEqual(await tab.clipped(), []);
}

/* A window of the past, by the words of `skein snapshot`; a refusal stands at the field that it is of. */
async function pastIsCaptured({ scene, open }) {
  const tab = await open();
  tab.expect(/422/);
  await tab.open("/");
  await tab.page.getByRole("button", { name: "Capture now…" }).click();
  const dialog = tab.page.getByRole("dialog");
  const field = (name) => dialog.getByLabel(name, { exact: true });
  await field("Whom: a selector").fill("service=redis");
  await field("When").selectOption({ label: "all between two (from, to)" });
  await field("From").fill("-3s");
  await field("To").fill("-1s");
  await dialog.getByText("Evidence, bounds and how long it is kept").click();
  await field("Only where so many processes match").fill("7");
  await dialog.getByRole("button", { name: "Capture" }).click();
  await dialog.locator(".wrong").getByText(/1 processes match/).waitFor();
  await field("Only where so many processes match").fill("1");
  await dialog.getByRole("button", { name: "Capture" }).click();
  await tab.page.waitForURL(/\/captures\/[0-9a-f]{32}$/);
  const capture = await scene.api("GET", `/captures/${new URL(tab.page.url()).pathname.split("/").pop()}`);
  assert.equal(Date.parse(capture.window.to) - Date.parse(capture.window.from), 2000);
  assert.equal(capture.min_targets, 1);
  await tab.settled();
}

async function rulesArePasted({ scene, open }) {
  const before = await scene.api("GET", "/rules/shop-crash");
  const pasted = [{ ...before, description: "Pasted <b>words</b>" }, { name: "pasted", selector: "service=nobody", when: { crash: {} } }, { name: "wrong", selector: "service=nobody", when: { moon: {} } }, await scene.api("GET", "/rules/redis-ping")];
  const tab = await open();
  tab.expect(/404|422|400/);
  await tab.open("/rules");
  await tab.page.getByRole("link", { name: "Paste rules" }).click();
  const text = tab.page.getByLabel(/One rule, or an array/);
  await text.fill("[{}]");
  await tab.page.getByText("element 1 has no name").waitFor();
  await text.fill(JSON.stringify(pasted));
  await tab.page.getByRole("button", { name: "Show what would change" }).click();
  const row = (name) => tab.page.getByRole("row").filter({ has: tab.page.getByRole("cell", { name, exact: true }) });
  await row("shop-crash").getByText("description: The shop has died → Pasted <b>words</b>").waitFor();
  await row("pasted").getByText("new", { exact: true }).waitFor();
  assert.deepEqual((await scene.api("GET", "/rules/shop-crash")).description, before.description, "looking changes nothing");
  await tab.page.getByRole("button", { name: "Apply 3 rules" }).click();
  await row("wrong").getByText("refused", { exact: true }).waitFor();
  await row("wrong").getByText(/moon/).waitFor();
  for (const name of ["shop-crash", "pasted"]) await row(name).getByText("applied", { exact: true }).waitFor();
  await row("redis-ping").getByText("as it is", { exact: true }).waitFor();
  await tab.page.locator('[aria-label="What would change"]:focus').waitFor();
  assert.equal((await scene.api("GET", "/rules/shop-crash")).description, "Pasted <b>words</b>");
  await scene.api("DELETE", "/rules/pasted");
  const { state, ...rule } = before;
  await scene.api("PUT", "/rules/shop-crash", rule);
}

export const tests = [
  { name: "pages without anything to show say what to do", run: emptyPagesTeach },
  { name: "the first token is made by the line that is taught", run: firstTokenIsTaught },
  { name: "a window in which nothing lies is said", run: nothingInWindowIsSaid },
  { name: "what is not there is said", run: refusalsAreSaid },
  { name: "a failing collector is said, and tried again", run: failuresPass },
  { name: "answers that cannot be read are said on every page", run: unreadableIsSaid },
  { name: "a long hostile refusal is cut and shown as text", run: longRefusalIsCut },
  { name: "what is awaited is said", run: waitingIsSaid },
  { name: "a window of the past is captured, and a refusal stands at its field", run: pastIsCaptured },
  { name: "pasted rules are shown before they are applied one by one", run: rulesArePasted },
  { name: "a dropped file is read here and sent nowhere", run: fileIsDropped },
  { name: "a file that is no trace is said", run: brokenFileIsSaid },
];
