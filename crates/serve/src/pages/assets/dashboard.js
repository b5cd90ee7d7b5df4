// What pages do beyond links and forms: follow changes, keys, times. Without it pages can be read
// and forms can be sent.
"use strict";

(() => {
  const body = document.body;
  const live = document.getElementById("live");

  // --- Merging a fresh page into the one that is shown -------------------------------------------
  // Elements stay, so focus, typed text and open details stay. Nothing moves that did not change:
  // what has left a list keeps its room, unseen, until the person does something.

  // Attributes are read by name: a form's fields hide its properties, such as `id`.
  const keyOf = (node) => {
    if (node.nodeType !== 1) return null;
    return node.getAttribute("data-key") ?? node.getAttribute("id") ?? node.getAttribute("data-act");
  };
  // A list is merged by other rules, so it is never the same as something that is none.
  const isList = (node) => node.nodeType === 1 && node.hasAttribute("data-list");
  const isSame = (one, other) =>
    one.nodeType === other.nodeType && one.nodeName === other.nodeName && keyOf(one) === keyOf(other) &&
    isList(one) === isList(other);

  function mergeAttributes(old, fresh) {
    for (const { name, value } of fresh.attributes) {
      if (name === "open" || (name === "value" && old.value !== old.defaultValue)) continue;
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    for (const { name } of [...old.attributes]) {
      if (name !== "open" && name !== "style" && !fresh.hasAttribute(name)) old.removeAttribute(name);
    }
  }

  function merge(old, fresh) {
    if (old.nodeType !== 1) {
      if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
      return;
    }
    if (old.isEqualNode(fresh)) return;
    // Words at the right end of a line begin elsewhere when they change.
    if (old.hasAttribute("data-words") && !isUsed(old)) return old.replaceWith(added(fresh));
    // A card may become shorter; what is below it stays where it is.
    if (old.localName === "article" && old.dataset.key) old.style.minHeight = `${old.offsetHeight}px`;
    mergeAttributes(old, fresh);
    if (old.localName === "textarea") {
      if (old.value === old.defaultValue) old.value = old.defaultValue = fresh.defaultValue;
    } else if (old.dataset.list === "blocks") {
      mergeBlocks(old, fresh);
    } else if (old.dataset.list) {
      mergeList(old, fresh);
    } else if ((hasText(old) || hasText(fresh)) && !isUsed(old)) {
      replaceChildren(old, fresh);
    } else {
      mergeChildren(old, fresh);
    }
  }

  // In a line of text all that follows a changed word would move. So its content is replaced, unless it
  // has something that a person may be using.
  const hasText = (node) => [...node.childNodes].some((it) => it.nodeType === 3 && it.nodeValue.trim() !== "");
  const isUsed = (node) =>
    node.contains(document.activeElement) || node.querySelector("details, input, textarea, [data-list]") !== null;

  function replaceChildren(old, fresh) {
    old.replaceChildren(...[...fresh.childNodes].map(added));
  }

  // Blocks below each other: a block that changes keeps its height (what does not fit is scrolled), one
  // that is gone keeps its room, and a new one comes last. The person's next act puts all in order.
  function mergeBlocks(old, fresh) {
    const known = new Map([...old.children].map((it) => [it.dataset.key, it]));
    const order = [...fresh.children].map((it) => it.dataset.key);
    for (const [key, it] of known) it.classList.toggle("gone", !order.includes(key));
    for (const node of [...fresh.children]) {
      const match = known.get(node.dataset.key);
      if (!match) {
        old.append(added(node));
        continue;
      }
      if (match.isEqualNode(node)) continue;
      const height = match.getBoundingClientRect().height;
      if (isUsed(match)) {
        merge(match, node);
      } else {
        mergeAttributes(match, node);
        replaceChildren(match, node);
      }
      // The last one has nothing below it.
      if (match.nextElementSibling && match.getBoundingClientRect().height !== height) match.style.height = `${height}px`;
      match.classList.toggle("kept", match.style.height !== "");
    }
    old.punchlistOrder = order;
  }

  function tidyBlocks() {
    for (const list of document.querySelectorAll('[data-list="blocks"]')) {
      for (const kept of list.querySelectorAll(":scope > .kept")) {
        kept.classList.remove("kept");
        kept.style.height = "";
      }
      if (!list.punchlistOrder) continue;
      const at = (it) => list.punchlistOrder.indexOf(it.dataset.key);
      const sorted = [...list.children].sort((one, other) => at(one) - at(other));
      // An element that is moved loses its focus, so only those are moved that must be.
      sorted.forEach((it, index) => list.children[index] === it || list.insertBefore(it, list.children[index]));
      list.punchlistOrder = null;
    }
  }

  function mergeChildren(old, fresh) {
    let at = old.firstChild;
    for (const node of [...fresh.childNodes]) {
      // Something else in the same place. What a person has opened stays, even if it is no longer offered:
      // the server says so when it is sent.
      if (at && keyOf(node) !== null && keyOf(at) === keyOf(node) && !isSame(at, node)) {
        const place = at;
        at = at.nextSibling;
        if (!(place.localName === "details" && place.open)) place.replaceWith(added(node));
        continue;
      }
      let match = at;
      while (match && !isSame(match, node)) match = match.nextSibling;
      // An element without a name of its own must not swallow those before it.
      if (match && match !== at && keyOf(node) === null) match = null;
      if (!match) {
        old.insertBefore(added(node), at);
        continue;
      }
      while (at !== match) {
        const gone = at;
        at = at.nextSibling;
        gone.remove();
      }
      at = match.nextSibling;
      merge(match, node);
    }
    while (at) {
      const gone = at;
      at = at.nextSibling;
      gone.remove();
    }
  }

  function mergeList(old, fresh) {
    const known = new Map([...old.children].map((it) => [it.dataset.key, it]));
    const stays = new Set([...fresh.children].map((it) => it.dataset.key));
    for (const [key, it] of known) it.classList.toggle("gone", !stays.has(key));
    const follows = fresh.dataset.list === "follow";
    let at = old.firstElementChild;
    const skipGone = () => {
      while (at?.classList.contains("gone")) at = at.nextElementSibling;
    };
    for (const node of [...fresh.children]) {
      const match = known.get(node.dataset.key);
      if (match) merge(match, node);
      const element = match ?? added(node);
      skipGone();
      if (follows) {
        if (element === at) at = at.nextElementSibling;
        else old.insertBefore(element, at);
      } else if (!match) {
        old.append(element);
      }
    }
  }

  const fresh = [];
  function added(node) {
    const element = document.importNode(node, true);
    if (element.nodeType === 1) fresh.push(element);
    return element;
  }

  window.htmx?.defineExtension("merge", {
    isInlineSwap: (style) => style === "merge",
    handleSwap(style, target, fragment) {
      if (style !== "merge") return false;
      const page = fragment.querySelector("#live");
      if (!page) return true;
      const wasAtEnd = isAtEnd();
      merge(target, page);
      for (const element of fresh.splice(0)) window.htmx.process(element);
      if (wasAtEnd) toEnd();
      tick();
      return true;
    },
  });

  // Signed out, or what is shown was deleted: the server says so.
  addEventListener("htmx:afterRequest", (event) => {
    if (event.target === live && [401, 404].includes(event.detail.xhr?.status)) location.reload();
  });

  // Room that was kept is given back right after the person has done something.
  const tidy = () =>
    setTimeout(() => {
      for (const gone of document.querySelectorAll(".gone")) gone.remove();
      tidyBlocks();
    }, 0);
  addEventListener("click", tidy);
  addEventListener("keyup", tidy);

  // --- Lists that grow at their end ----------------------------------------------------------------

  const endless = () => document.querySelector("[data-end]");
  const isAtEnd = () =>
    endless() !== null && innerHeight + scrollY >= document.documentElement.scrollHeight - 80;
  const toEnd = () => scrollTo(0, document.documentElement.scrollHeight);
  if (endless() && !location.hash) toEnd();

  // --- The graph: the open item is in the middle, however large the drawing is ---------------------

  function centre() {
    const node = document.querySelector(".graph .node.current");
    const graph = node?.closest(".graph");
    if (!graph) return;
    const [inner, outer] = [node.getBoundingClientRect(), graph.getBoundingClientRect()];
    graph.scrollBy(
      inner.left + inner.width / 2 - outer.left - outer.width / 2,
      inner.top + inner.height / 2 - outer.top - outer.height / 2,
    );
  }
  centre();
  // The choice stays while the tab is open.
  const fit = document.getElementById("fit");
  if (fit) {
    fit.checked = sessionStorage.getItem("punchlist fit") === "yes";
    fit.addEventListener("change", () => {
      sessionStorage.setItem("punchlist fit", fit.checked ? "yes" : "no");
      centre();
    });
  }

  // --- Times ---------------------------------------------------------------------------------------

  function tick() {
    const now = Math.floor(Date.now() / 1000);
    for (const time of document.querySelectorAll("time[data-time]")) {
      const seconds = Math.max(0, now - Math.floor(Date.parse(time.dateTime) / 1000));
      const [size, unit] =
        seconds < 60 ? [1, "s"] : seconds < 3600 ? [60, "m"] : seconds < 86400 ? [3600, "h"] : [86400, "d"];
      const span = `${Math.floor(seconds / size)} ${unit}`;
      const text = time.dataset.time === "since" ? span : seconds === 0 ? "just now" : `${span} ago`;
      if (time.textContent !== text) time.textContent = text;
    }
  }
  setInterval(tick, 5000);

  // --- Following changes ---------------------------------------------------------------------------
  // Every change is a reason to load the page's content again, so nothing is missed and nothing
  // comes twice. Browsers allow few connections to one server, so of all tabs one listens and tells
  // the others.

  let soon = null;
  function refresh() {
    if (!live?.hasAttribute("hx-get")) return;
    soon ??= setTimeout(() => {
      soon = null;
      window.htmx?.trigger(live, "refresh");
    }, document.hidden ? 1500 : 80);
  }

  const channel = "BroadcastChannel" in window ? new BroadcastChannel(`punchlist ${body.dataset.base}`) : null;
  function hear(what) {
    body.classList.toggle("lost", what === "lost");
    if (what !== "lost") refresh();
  }
  function tell(what) {
    hear(what);
    channel?.postMessage(what);
  }
  channel?.addEventListener("message", (event) => hear(event.data));

  let wait = 500;
  function listen() {
    const source = new EventSource(body.dataset.events);
    source.addEventListener("open", () => (wait = 500));
    source.addEventListener("changed", () => tell("changed"));
    source.addEventListener("error", () => {
      tell("lost");
      // The browser tries again by itself only after some failures; this does after all.
      source.close();
      setTimeout(listen, wait);
      wait = Math.min(wait * 2, 5000);
    });
  }
  if (body.dataset.events && navigator.locks) {
    navigator.locks.request(`punchlist ${body.dataset.base}`, () => {
      listen();
      return new Promise(() => {});
    });
  } else if (body.dataset.events) {
    listen();
  }
  addEventListener("visibilitychange", () => document.hidden || refresh());
  addEventListener("pageshow", (event) => event.persisted && refresh());

  // --- Keys ----------------------------------------------------------------------------------------

  const dialog = document.getElementById("keys");
  document.getElementById("keys-button")?.addEventListener("click", () => dialog.showModal());

  const rows = () => [...document.querySelectorAll("[data-row]:not(.gone)")].filter((it) => !it.closest(".gone, .earlier:not([open])"));
  function step(by) {
    const all = rows();
    if (all.length === 0) return;
    const at = all.findIndex((it) => it.contains(document.activeElement));
    const next = at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1);
    all[next].focus();
    all[next].scrollIntoView({ block: "nearest" });
  }

  // The question that keys answer: the focused one, else the one that was first when the page was
  // opened. It does not change by itself, so no key answers a question that was not meant.
  const firstQuestion = document.querySelector(".question.waiting");
  function question() {
    const focused = document.activeElement?.closest(".question");
    const meant = focused ?? firstQuestion;
    return meant?.classList.contains("waiting") ? meant : null;
  }

  function press(element) {
    const details = element.closest("details");
    if (element.localName !== "summary") return element.click();
    details.open = true;
    (details.querySelector("input:not([type=hidden]), textarea, button") ?? element).focus();
  }

  function act(name) {
    // The item beside the view has its own forms.
    const form = document.querySelector(`.item-detail [data-act="${name}"]`) ??
      document.querySelector(`aside [data-act="${name}"]`);
    const row = document.activeElement?.closest?.("[data-item]");
    const keyForm = document.getElementById("key-form");
    if (row?.localName === "a" && name !== "add" && name !== "undo" && keyForm) {
      if (["done", "skip", "wait", "edit"].includes(name)) {
        location.assign(`${row.href}#${name}`);
        return true;
      }
      // `elements.item` would be a method of the collection.
      keyForm.elements.namedItem("act").value = name;
      keyForm.elements.namedItem("item").value = row.dataset.item;
      keyForm.submit();
      return true;
    }
    if (!form) return false;
    const summary = form.querySelector(":scope > summary");
    if (summary) press(summary);
    else if (name === "add") form.querySelector("input:not([type=hidden])").focus();
    else form.requestSubmit();
    return true;
  }

  function statusOf() {
    const row = document.activeElement?.closest?.("[data-status]") ?? document.querySelector(".item-detail");
    return row?.dataset.status;
  }

  const ACTS = {
    a: () => "add", e: () => "edit", s: () => "start", d: () => "done", x: () => "skip", w: () => "wait",
    r: () => (statusOf() === "in_progress" ? "release" : "reopen"),
    v: () => "verify", p: () => "approve", u: () => "undo", J: () => "down", K: () => "up",
  };

  let goes = false;
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || dialog?.open) return;
    const target = event.target;
    if (event.key === "Escape") {
      const details = target.closest?.("details[open]");
      if (details) {
        details.open = false;
        details.querySelector("summary").focus();
      } else if (target.matches?.("input, textarea")) {
        target.blur();
      } else {
        const back = document.querySelector(".item-detail [data-back]") ?? document.querySelector("[data-back]");
        back?.click();
      }
      return;
    }
    if (target.matches?.("input:not([type=checkbox]), textarea, select")) return;
    if (handle(event.key)) event.preventDefault();
  });

  function handle(key) {
    if (goes) {
      goes = false;
      const link = document.querySelector(`[data-go="${CSS.escape(key)}"]`);
      link?.click();
      return link !== null;
    }
    switch (key) {
      case "?": dialog.showModal(); return true;
      case "/": {
        const box = document.getElementById("q");
        if (box) box.focus();
        else document.querySelector('[data-go="f"]').click();
        return true;
      }
      case "g": goes = true; setTimeout(() => (goes = false), 1500); return true;
      case "j": step(1); return true;
      case "k": step(-1); return true;
    }
    const asked = question();
    const answer = asked?.querySelector(`[data-press="${CSS.escape(key)}"]`);
    if (answer) {
      press(answer);
      return true;
    }
    if (document.querySelector(".plan-page")) {
      const view = document.querySelector(`[data-go-view="${CSS.escape(key)}"]`);
      if (view) {
        view.click();
        return true;
      }
      if (key in ACTS) return act(ACTS[key]());
    }
    return false;
  }

  // An address may name the form to open: the item's page after a key on its row.
  const named = /^#[a-z]+$/.test(location.hash) &&
    document.querySelector(`.item-detail details[data-act="${location.hash.slice(1)}"] > summary`);
  if (named) press(named);
  document.querySelector(`.question:target`)?.focus();
})();
