// SPDX-License-Identifier: Apache-2.0
// Tokens and sessions: who is nobody logs in and comes back to the page; what ends, ends at once; who is confined sees
// no control that would be refused. Makes the collector's first token: these tests are the last ones.
import assert from "node:assert/strict";
import { DEADLINE_MS } from "./support/until.mjs";

const REFUSED = /40[13]|429/;

async function tokensBegin(scene) {
  if (scene.token === undefined) scene.token = await scene.tokenCreate("tests", "admin");
}

async function logIn(tab, secret) {
  await tab.page.getByLabel(/token/i).fill(secret);
  await tab.page.getByRole("button", { name: /log in/i }).click();
}

async function comesBack({ scene, open }) {
  await tokensBegin(scene);
  const secret = await scene.tokenCreate("reader", "operator");
  const tab = await open();
  tab.expect(REFUSED);
  const path = `/captures/${scene.capture.capture}`;
  await tab.page.goto(`${tab.origin}${path}`);
  await tab.page.waitForURL("**/login?to=*");
  await tab.page.getByRole("navigation", { name: "Pages" }).waitFor({ state: "detached" }); /* none is offered to nobody */
  await logIn(tab, `skn_${"x".repeat(43)}`);
  await tab.page.getByRole("alert").first().waitFor();
  await logIn(tab, secret);
  await tab.page.waitForURL(`**${path}`);
  await tab.page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Captures" }).waitFor();
  await tab.says(/reader/, tab.page.getByRole("banner"));
  assert.equal(await tab.page.evaluate(() => document.cookie), "", "no script can read the cookie");
  const [cookie] = await tab.context.cookies();
  assert.match(cookie.name, /^__Host-skein-[0-9a-f]{8}$/);
  assert.deepEqual([cookie.httpOnly, cookie.secure, cookie.sameSite], [true, true, "Strict"]);
  await tab.page.getByRole("banner").getByRole("button", { name: /log out/i }).click();
  await tab.page.waitForURL("**/login*");
  await tab.page.goto(`${tab.origin}/captures`);
  await tab.page.waitForURL("**/login?to=*");
}

/* A revoked token ends its session at once; the page says so where it asks next, and the login comes back to it. */
async function revocationEnds({ scene, open }) {
  await tokensBegin(scene);
  const secret = await scene.tokenCreate("revoked", "viewer");
  const tab = await open();
  tab.expect(REFUSED);
  await tab.page.goto(`${tab.origin}/captures`);
  await logIn(tab, secret);
  await tab.page.waitForURL("**/captures");
  await tab.page.getByRole("link", { name: /redis-ping/ }).first().waitFor();
  await scene.tokenRevoke("revoked");
  await tab.page.waitForURL("**/login?to=*");
  assert.match(new URL(tab.page.url()).searchParams.get("to") ?? "", /^\/captures/);
}

/* A token that lives long enough for this machine to log in with it, twice as long each time. */
async function logInShortly(scene, tab, ms) {
  const name = `short-${ms}`;
  const secret = await scene.tokenCreate(name, "viewer", "--expires", new Date(Date.now() + ms).toISOString());
  await logIn(tab, secret);
  const here = tab.page.waitForURL("**/captures").then(() => true);
  const late = tab.page.getByRole("alert").first().waitFor().then(() => false);
  late.catch(() => undefined); /* of the two, one never comes */
  here.catch(() => undefined);
  if (await Promise.race([here, late])) return;
  assert.ok(ms < DEADLINE_MS, `no login within ${ms} ms`);
  await tab.page.reload();
  await logInShortly(scene, tab, 2 * ms);
}

async function expiryEnds({ scene, open }) {
  await tokensBegin(scene);
  const tab = await open();
  tab.expect(REFUSED);
  await tab.page.goto(`${tab.origin}/captures`);
  await tab.page.waitForURL("**/login?to=*");
  await logInShortly(scene, tab, 3000);
  await tab.page.waitForURL("**/login?to=*");
}

async function codeLogsIn({ scene, open }) {
  await tokensBegin(scene);
  const { code } = await scene.api("POST", "/login-codes", {});
  const tab = await open();
  tab.expect(REFUSED);
  await tab.page.goto(`${tab.origin}/login#c=${code}`);
  await tab.page.waitForURL(`${tab.origin}/`);
  await tab.says(/tests/, tab.page.getByRole("banner"));
  const again = await open();
  again.expect(REFUSED);
  await again.page.goto(`${tab.origin}/login#c=${code}`);
  await again.page.getByRole("alert").first().waitFor();
}

/* Everything that a confined viewer can reach by links is answered; nobody else's service is named. */
async function confinedSeesItsOwn({ scene, open }) {
  await tokensBegin(scene);
  const secret = await scene.tokenCreate("confined", "viewer", "--selector", "service=shop");
  const tab = await open();
  tab.expect(/401/);
  const refused = [];
  tab.page.on("response", (answer) => answer.status() === 403 && refused.push(`${answer.request().method()} ${new URL(answer.url()).pathname} on ${new URL(tab.page.url()).pathname}`));
  await tab.page.goto(`${tab.origin}/`);
  await logIn(tab, secret);
  await tab.page.waitForURL(`${tab.origin}/`);
  await tab.says(/confined/, tab.page.getByRole("banner"));
  const links = await tab.page.getByRole("navigation").getByRole("link").evaluateAll((all) => all.map((a) => a.getAttribute("href")));
  for (const path of ["/rules", "/policies", "/agents", "/audit", "/tokens", "/join-tokens", "/storage"])
    assert.ok(!links.includes(path), `${path} is not offered`);
  const process = scene.capture.targets.find((target) => target.service === "shop").process;
  for (const path of [...links, `/captures/${scene.capture.capture}`, `/captures/${scene.capture.capture}/timeline`, `/processes/${process}`]) {
    await tab.open(path);
    const text = await tab.page.getByRole("main").innerText();
    assert.doesNotMatch(text, /redis-server|service=redis|redis-ping/, path);
    assert.doesNotMatch(text, /\b(Delete|Pin|Capture now|Stop(?! reading))\b/, `${path}: a viewer is offered no change`);
  }
  assert.deepEqual(refused, [], "requests that were refused");
}

/* Who is confined and may capture: the dialog asks nothing that is refused, and takes what it says; addresses of the
 * fleet that were typed say why they are empty. */
async function confinedCaptures({ scene, open }) {
  await tokensBegin(scene);
  const secret = await scene.tokenCreate("confined-operator", "operator", "--selector", "service=shop");
  const tab = await open();
  tab.expect(/401/);
  const refused = [];
  tab.page.on("response", (answer) => answer.status() === 403 && refused.push(`${answer.request().method()} ${new URL(answer.url()).pathname}`));
  await tab.page.goto(`${tab.origin}/`);
  await logIn(tab, secret);
  await tab.page.waitForURL(`${tab.origin}/`);
  for (const path of ["/rules", "/rules/redis-ping", "/policies", "/agents", "/storage", "/series"]) {
    await tab.open(path);
    await tab.says(/of the whole fleet[^]*confined to the processes that match service=shop/, tab.page.getByRole("main"));
  }
  await tab.open("/");
  await tab.page.getByRole("button", { name: "Capture now…" }).click();
  const dialog = tab.page.getByRole("dialog");
  await tab.says(/every process that you see/, dialog);
  assert.deepEqual(await tab.axe(), [], "violations of WCAG in the dialog");
  await dialog.getByRole("button", { name: "Capture", exact: true }).click();
  await tab.page.waitForURL(/\/captures\/[0-9a-f]{32}$/);
  const id = new URL(tab.page.url()).pathname.split("/")[2];
  await tab.says(/A snapshot of processes that you see/, tab.page.getByRole("main"));
  const { targets } = await scene.api("GET", `/captures/${id}`);
  assert.deepEqual(targets.map((target) => target.service), ["shop"]);
  assert.deepEqual(refused, [], "requests that were refused");
}

export const tests = [
  { name: "who is nobody logs in and comes back to the page", run: comesBack },
  { name: "a revoked token ends an open page's session", run: revocationEnds },
  { name: "a token that expires ends an open page's session", run: expiryEnds },
  { name: "a one-time code logs in once", run: codeLogsIn },
  { name: "a confined viewer sees its own, and no control that would be refused", run: confinedSeesItsOwn },
  { name: "a confined operator captures its own, and is told which pages are of the fleet", run: confinedCaptures },
];
