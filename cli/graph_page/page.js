"use strict";
(() => {
  const graph = JSON.parse(document.getElementById("graph").textContent);
  const [KIND, NAME, STATE, CHANGE, FACTS, WHY] = [0, 1, 2, 3, 4, 5];
  const WIDTH = 210, HEIGHT = 30, GAP = 90, ROW = 40, TOP = 44, LEFT = 16;
  const MOST = 400;
  const drawing = document.getElementById("drawing");
  const details = document.getElementById("details");
  const find = document.getElementById("find");
  const before = graph.nodes.map(() => []), after = graph.nodes.map(() => []);
  graph.edges.forEach(([source, target], number) => { after[source].push(number); before[target].push(number); });
  let chosen = -1, places = new Map();

  const make = (name, attributes, parent) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (parent) parent.append(made);
    return made;
  };

  // Everything that a thing leads to, and everything that leads to it.
  const related = (starts) => {
    const found = new Set(starts);
    for (const [edges, end] of [[after, 1], [before, 0]]) {
      const open = [...starts], seen = new Set(starts);
      while (open.length) {
        for (const number of edges[open.pop()]) {
          const next = graph.edges[number][end];
          if (!seen.has(next)) { seen.add(next); found.add(next); open.push(next); }
        }
      }
    }
    return found;
  };

  const shorten = (text) => text.length > 30 ? `${text.slice(0, 14)}…${text.slice(-14)}` : text;

  const draw = (shown) => {
    places = new Map();
    const counts = graph.columns.map(() => 0);
    graph.nodes.forEach((node, number) => {
      if (shown.has(number)) places.set(number, [LEFT + node[KIND] * (WIDTH + GAP), TOP + ROW * counts[node[KIND]]++]);
    });
    const svg = make("svg", {
      width: LEFT * 2 + graph.columns.length * (WIDTH + GAP) - GAP,
      height: TOP + ROW * Math.max(1, ...counts) + 20,
    });
    graph.columns.forEach(([, head], column) => {
      make("text", { class: "head", x: LEFT + column * (WIDTH + GAP), y: 24 }, svg).textContent =
        `${head} ${counts[column] || ""}`;
    });
    graph.edges.forEach(([source, target, label, change]) => {
      if (!places.has(source) || !places.has(target)) return;
      const [x1, y1] = places.get(source), [x2, y2] = places.get(target);
      const [a, b, c, d] = [x1 + WIDTH, y1 + HEIGHT / 2, x2, y2 + HEIGHT / 2];
      const lit = source === chosen || target === chosen ? " lit" : "";
      make("path", { class: change + lit, d: `M${a} ${b}C${a + GAP / 2} ${b} ${c - GAP / 2} ${d} ${c} ${d}` }, svg);
      if (label) make("text", { class: "label", x: c - 6, y: d - 4, "text-anchor": "end" }, svg).textContent = label;
    });
    for (const [number, [x, y]] of places) {
      const node = graph.nodes[number];
      const group = make("g", {
        class: [node[STATE], node[CHANGE], number === chosen ? "chosen" : ""].join(" ").trim(),
        tabindex: 0, role: "button", "data-number": number,
        "aria-label": `${graph.columns[node[KIND]][0]} ${node[NAME]}, ${node[CHANGE] || node[STATE]}`,
      }, svg);
      make("rect", { x, y, width: WIDTH, height: HEIGHT }, group);
      const mark = { added: "+ ", removed: "− " }[node[CHANGE]] || "";
      make("text", { x: x + 8, y: y + 19 }, group).textContent = mark + shorten(node[NAME]);
      make("title", {}, group).textContent = node[NAME];
    }
    drawing.replaceChildren(svg);
  };

  const tell = (number) => {
    const node = graph.nodes[number];
    const head = document.createElement("h2");
    head.textContent = `${graph.columns[node[KIND]][0]} ${node[NAME]}`;
    const facts = document.createElement("dl");
    const state = node[CHANGE] || (node[STATE] === "unknown" ? "" : node[STATE]);
    for (const [key, value] of [...(state ? [["state", state]] : []), ...node[FACTS]]) {
      const [term, description] = [document.createElement("dt"), document.createElement("dd")];
      term.textContent = key;
      description.textContent = value;
      facts.append(term, description);
    }
    const why = document.createElement("ul");
    for (const line of node[WHY]) why.append(Object.assign(document.createElement("li"), { textContent: line }));
    details.replaceChildren(head, facts, why);
  };

  const focus = (number) => drawing.querySelector(`[data-number="${number}"]`)?.focus();

  const choose = (number) => {
    chosen = number;
    draw(related([number]));
    tell(number);
    focus(number);
  };

  const showAll = () => {
    chosen = -1;
    const all = graph.nodes.map((_, number) => number);
    // Of a very large fleet the front is shown; a choice or a search shows the rest of what it is about.
    draw(new Set(all.length <= MOST ? all : all.filter((number) => graph.nodes[number][KIND] < 2).slice(0, MOST)));
  };

  drawing.addEventListener("click", (event) => {
    const group = event.target.closest("g[role=button]");
    if (group) choose(Number(group.dataset.number));
  });
  drawing.addEventListener("keydown", (event) => {
    const group = event.target.closest("g[role=button]");
    if (!group) return;
    const number = Number(group.dataset.number);
    const near = (column) => [...places].filter(([other]) => graph.nodes[other][KIND] === column);
    const own = near(graph.nodes[number][KIND]).map(([other]) => other);
    const moves = {
      Enter: () => choose(number), " ": () => choose(number), Escape: () => { showAll(); focus(number); },
      ArrowDown: () => focus(own[own.indexOf(number) + 1]), ArrowUp: () => focus(own[own.indexOf(number) - 1]),
      ArrowRight: () => focus(graph.edges[after[number].find((edge) => places.has(graph.edges[edge][1]))]?.[1]),
      ArrowLeft: () => focus(graph.edges[before[number].find((edge) => places.has(graph.edges[edge][0]))]?.[0]),
    };
    if (moves[event.key]) { event.preventDefault(); moves[event.key](); }
  });
  document.getElementById("all").addEventListener("click", showAll);
  find.addEventListener("input", () => {
    const wanted = find.value.trim().toLowerCase();
    if (!wanted) { showAll(); return; }
    const hits = graph.nodes.flatMap((node, number) => node[NAME].toLowerCase().includes(wanted) ? [number] : []);
    chosen = -1;
    draw(related(hits.slice(0, MOST)));
  });

  const changed = (change) => graph.nodes.filter((node) => node[CHANGE] === change).length;
  const marks = [["added", "added"], ["removed", "taken away"]].flatMap(([change, word]) =>
    changed(change) ? [`${changed(change)} ${word} by the plan`] : []);
  const counted = graph.columns.map(([kind], column) => {
    const count = graph.nodes.filter((node) => node[KIND] === column).length;
    return `${count} ${kind}${count === 1 ? "" : "s"}`;
  });
  document.getElementById("summary").textContent = [...counted.slice(1, 5), ...marks].join(" · ");
  showAll();
})();
