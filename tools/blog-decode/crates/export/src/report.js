// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What the report does. Where its data are: html.rs.
"use strict";
const $ = id => document.getElementById(id);
const LEVELS = ["?", "err", "warn", "info", "debug", "trace"];
const LANE = 18, ROW = 20, PAD = 6, MAX_HEIGHT = 8e6, LOST = -1, LONG = 127,
	NOWHERE = (1 << 21) - 1;
// The place of lanes' names.
let LABEL = 260;
// Components and call sites that have a colour of their own in the chart, lanes of spans that are not folded, and
// spans in the table.
const COLOURS = 12, UNFOLDED = 8, SLOWEST = 1000;
const about = JSON.parse($("about-data").textContent);
const n = about.records;
let times, lanes, sites, ends;
// All messages, in UTF-8, each after the places of its arguments: as a string, they could be longer
// than a browser allows.
let bytes;
let view = [0, 1], span = [0, 1], hits = new Uint32Array(0), inView = [0, 0], chosen = -1;
// What is before the chosen time and after it, and where the pointer is.
let markers = [null, null], pointer = null;
let muted = new Set(), folded = new Set();
// From when on each lane is complete: its last loss; -Infinity: it has none.
const complete = new Float64Array(about.lanes.length).fill(-Infinity);
// Rows of the lanes: {name, lanes, indent, group} or {name, spans, row}.
let items = [];
// The spans that took the longest, if the table shows those: {kind, k, length}.
let slowest = null;

const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const site = i => about.sites[sites[i]];
const levelOf = Int8Array.from(about.sites, s => s.level);
const components = [...new Set(about.lanes.map(l => l.component))].sort();
const componentOf = Uint16Array.from(about.lanes, l => components.indexOf(l.component));

// --- Data

// What a stream of the page holds: `size` bytes.
async function unpack(name, size) {
	const parts = [...document.querySelectorAll("." + name)];
	let text = "", from = 0;
	// A piece at a time: what was read can go.
	const packed = new ReadableStream({ pull(to) {
		if (from >= text.length) {
			const part = parts.shift();
			if (!part) return to.close();
			[text, from] = [part.textContent, 0];
			part.remove();
		}
		const piece = atob(text.slice(from, from += 1 << 20)), raw = new Uint8Array(piece.length);
		for (let i = 0; i < piece.length; i++) raw[i] = piece.charCodeAt(i);
		to.enqueue(raw);
	} });
	const reader = packed.pipeThrough(new DecompressionStream("gzip")).getReader();
	const all = new Uint8Array(size);
	for (let at = 0; ;) {
		const { done, value } = await reader.read();
		if (done) {
			if (at !== size) throw Error(`${at} of ${size} bytes of ${name}`);
			return all;
		}
		all.set(value, at);
		at += value.length;
	}
}

const wide = count => count > 65536;

async function load() {
	const spans = about.spans.reduce((sum, kind) => sum + kind.count, 0);
	const widths = [about.lanes.length, about.sites.length].map(count => wide(count) ? 4 : 2);
	const sizes = widths.map(width => Math.ceil(width * n / 4) * 4);
	const columns = await unpack("columns", 12 * n + 20 * spans + sizes[0] + sizes[1]);
	let at = 0;
	const column = (Type, count) => {
		const found = new Type(columns.buffer, at, count);
		at += count * Type.BYTES_PER_ELEMENT;
		return found;
	};
	times = column(Float64Array, n);
	for (const kind of about.spans) kind.lengths = column(Float64Array, kind.count);
	ends = column(Uint32Array, n);
	for (const kind of about.spans) {
		kind.pairs = column(Uint32Array, 2 * kind.count);
		kind.rows = column(Uint32Array, kind.count);
	}
	[lanes, sites] = widths.map((width, i) => {
		const list = column(width === 4 ? Uint32Array : Uint16Array, n);
		at += sizes[i] - width * n;
		return list;
	});
	for (let i = 0; i < n; i++) if (levelOf[sites[i]] === LOST) complete[lanes[i]] = times[i];
	bytes = await unpack("text", about.text_bytes);
	span = n ? [times[0], times[n - 1]] : [0, 1];
	// Silence that lasts to the end is part of a hang.
	if (n) for (const boot of about.hang.filter(boot => boot.rows.length))
		span[1] = Math.max(span[1], endOf(boot));
	if (span[1] - span[0] < 1000) span[1] = span[0] + 1000;
	view = [...span];
	about.spans.forEach(prepareSpans);
	document.body.classList.toggle("date", !!about.is_real);
	for (const name of components) $("component").add(new Option(name, name));
	const lost = about.lost ? `, ${about.lost.toLocaleString()} records lost or overwritten` : "";
	const hosts = new Set(about.lanes.map(l => l.host)).size;
	const host = about.is_real && hosts > 3 ? `${hosts} machines and boots` : about.host;
	$("about").textContent = `${host} · ${about.release} · ${some(components.length, "component")}, ` +
		`${some(about.lanes.length, "lane")}, ${long(span[1] - span[0])}${lost}`;
	$("tabs").hidden = !about.spans.length;
	suspect();
	fromLink();
}

const endsOf = (kind, k) => [kind.pairs[2 * k], kind.pairs[2 * k + 1]];
// A bar is as long as the time from its first to its last record; a sleep of the machine is none of
// its length.
const lengthOf = (kind, k) => kind.lengths[k];

// Of sorted values, the least one that so many thousandths don't exceed, as blog-decode has it.
const quantile = (sorted, share) => sorted[Math.max(Math.ceil(sorted.length * share / 1000), 1) - 1];

// How long spans are, and how many rows they need.
function prepareSpans(kind) {
	const lengths = Float64Array.from({ length: kind.count }, (_, k) => lengthOf(kind, k)).sort();
	kind.longest = lengths[kind.count - 1] ?? 0;
	kind.least = lengths[kind.count - SLOWEST] ?? 0;
	// One in a hundred stands out, if it is long beside the others.
	kind.slow = Math.max(lengths[Math.floor(kind.count * 0.99)], 2 * quantile(lengths, 500)) || Infinity;
	kind.height = kind.rows.reduce((most, row) => Math.max(most, row + 1), 0);
	if (kind.height > UNFOLDED) folded.add("spans " + kind.name);
}

const isSlow = (kind, k) => lengthOf(kind, k) >= kind.slow;

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const startOf = i => i ? ends[i - 1] : 0;

// How many bytes `count` numbers have, of which `at` gives a byte.
function skip(at, from, count) {
	let p = from;
	for (; count > 0; count--) p += at(p) === LONG ? 4 : 1;
	return p;
}

const numbers = i => 2 * site(i).args.length;
const messageStart = i => skip(p => bytes[p], startOf(i), numbers(i));
const message = i => decoder.decode(bytes.subarray(messageStart(i), ends[i]));

// An argument's text in a record; undefined if its message doesn't have it.
function argument(i, which) {
	let p = startOf(i);
	const next = () => {
		const digit = bytes[p++];
		if (digit !== LONG) return digit;
		p += 3;
		return bytes[p - 3] << 14 | bytes[p - 2] << 7 | bytes[p - 1];
	};
	p = skip(at => bytes[at], p, 2 * which);
	const from = next(), length = next(), start = messageStart(i) + from;
	return from === NOWHERE ? undefined : decoder.decode(bytes.subarray(start, start + length));
}

// Messages for one who goes through them: many are decoded at once.
function reader() {
	let from = 0, to = 0, start = 0, text = "", isAscii = false;
	return i => {
		if (i < from || i >= to) {
			[from, to, start] = [i, i + 1, startOf(i)];
			while (to < n && ends[to] - start < 1 << 20) to++;
			text = decoder.decode(bytes.subarray(start, ends[to - 1]));
			// A character for each byte.
			isAscii = text.length === ends[to - 1] - start;
		}
		return isAscii ? text.slice(messageStart(i) - start, ends[i] - start) : message(i);
	};
}

// --- Words

const some = (n, what) => `${n.toLocaleString()} ${what}${n === 1 ? "" : "s"}`;
// Of whole seconds and ns.
const fraction = ns => String(Math.floor(ns % 1e9)).padStart(9, "0");
const seconds = (s, ns) => `${s + Math.floor(ns / 1e9)}.${fraction(ns)}`;
const date = ns => {
	const all = about.real_ns + ns, second = about.real_s + Math.floor(all / 1e9);
	return `${new Date(second * 1e3).toISOString().slice(0, 19)}.${fraction(all)}Z`;
};
// Date and time, of several boots; else seconds since boot.
const clock = ns => about.is_real ? date(ns) : seconds(about.start_s, about.start_ns + ns);

// A length of time in three digits: a rate would say more than few records do.
function long(ns) {
	const [unit, size] = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]]
		.find(u => ns >= 0.9995 * u[1]) || ["ns", 1];
	return `${+(ns / size).toPrecision(3)} ${unit}`;
}

const oneLine = text => text.replace(/\s*\n\s*/g, " ⏎ ");
const laneName = l => [about.lanes[l].host, about.lanes[l].context].filter(Boolean).join(" ");

// --- Colours

// "level", "component" or "site".
let by = "level";
// Of a component or call site, how many have more records, up to those that have a colour of their own.
const ranks = {};
const colour = key => key === LOST ? css("--lost")
	: by !== "level" && key === COLOURS ? css("--dim")
	: by !== "level" ? `hsl(${(210 + key * 137.5) % 360} 60% 50%)` : css("--l" + key);
// What the colour of a record is of: less is more important.
const keyOf = i => levelOf[sites[i]] === LOST ? LOST
	: by === "component" ? Math.min(componentOf[lanes[i]], COLOURS)
	: by === "site" ? ranks.site.of[sites[i]] : levelOf[sites[i]];

function keys() {
	if (by === "level") return [0, 1, 2, 3, 4, 5];
	const names = by === "site" ? rankSites().names : components;
	return names.slice(0, COLOURS + 1).map((_, key) => key);
}

// Those with the most records first.
function rankSites() {
	if (ranks.site) return ranks.site;
	const counts = new Uint32Array(about.sites.length), of = new Uint8Array(about.sites.length);
	for (let i = 0; i < n; i++) counts[sites[i]]++;
	const order = about.sites.map((_, s) => s).filter(s => levelOf[s] !== LOST)
		.sort((a, b) => counts[b] - counts[a]);
	order.forEach((s, k) => { of[s] = Math.min(k, COLOURS); });
	const name = s => about.sites[s].format || origin(about.sites[s]) || "?";
	return ranks.site = { of, names: order.slice(0, COLOURS + 1).map(name) };
}

function palette() {
	return Object.fromEntries([LOST, ...keys()].map(key => [key, colour(key)]));
}

function legend() {
	const names = by === "site" ? rankSites().names : components;
	const used = new Set(levelOf), chips = by !== "level"
		? keys().map(c => [c, c < COLOURS ? names[c].slice(0, 40) : "others"])
		: keys().filter(l => used.has(l)).map(l => [l, LEVELS[l]]);
	if (used.has(LOST)) chips.push([LOST, "lost"]);
	$("legend").replaceChildren(...chips.map(([key, name]) => {
		const chip = document.createElement("span");
		chip.textContent = name;
		chip.className = key === LOST ? "lost" : "";
		chip.style.setProperty("--c", colour(key));
		return chip;
	}));
}

// --- Who is suspicious

// When a file ended, in the times of records.
const endOf = boot => (boot.end_s - about.start_s) * 1e9 + boot.end_ns - about.start_ns;
const pidOf = l => +(about.lanes[l].context.match(/\[(\d+)\]$/) ?? [])[1];
// Of each lane: {rank, by}. Tasks of the trees come first, then threads that were silent for longer than
// they ever are, those with errors, and busy ones.
let suspicion = [];

const INTERVALS = 50, STRANGE = 10;
function suspect() {
	const recent = about.lanes.map(() => []), errors = new Uint32Array(about.lanes.length);
	const counts = new Uint32Array(about.lanes.length);
	for (let i = n - 1; i >= 0; i--) {
		const l = lanes[i], level = levelOf[sites[i]];
		if (level === LOST) continue;
		counts[l]++;
		if (level === 1) errors[l]++;
		if (counts[l] <= INTERVALS + 1) recent[l].push(times[i]);
	}
	suspicion = about.lanes.map((lane, l) => {
		const boot = about.hang.find(boot => boot.host === lane.host), pid = pidOf(l);
		const place = boot ? boot.rows.findIndex(row => row.pid === pid) : -1;
		if (place >= 0) return { rank: 0, by: -place };
		const all = recent[l], gaps = all.slice(1).map((t, k) => all[k] - t).sort((a, b) => a - b);
		const silent = (boot ? endOf(boot) : span[1]) - all[0];
		if (pid && gaps.length && silent > STRANGE * quantile(gaps, 500)) return { rank: 1, by: silent };
		return errors[l] ? { rank: 2, by: errors[l] } : { rank: 3, by: counts[l] };
	});
}

// --- The records of one object

// {name, records}, and what it was made of.
let object = null, objectOf = "";

// A number in any base, or a text.
function value(text) {
	try {
		return BigInt(text.replace(/^-/, "")) * (text.startsWith("-") ? -1n : 1n);
	} catch {
		return text.replace(/^"(.*)"$/, "$1");
	}
}

function findObject() {
	const asked = $("object").value.trim();
	if (asked === objectOf) return;
	[object, objectOf] = [null, asked];
	const parts = asked.match(/^(?:arg\.)?([^\s=]+)\s*==?\s*(.+)$/);
	const which = parts ? about.sites.map(s => s.args.findIndex(a => a.name === parts[1])) : [];
	const wrong = !asked ? "" : !parts ? "not arg.NAME == VALUE"
		: which.every(k => k < 0) ? `no call site has an argument ${parts[1]}` : "";
	$("unlike").textContent = wrong;
	if (!asked || wrong) return;
	const wanted = value(parts[2]), found = [];
	for (let i = 0; i < n; i++) {
		const k = which[sites[i]];
		if (k < 0) continue;
		const text = argument(i, k);
		if (text !== undefined && value(text) === wanted) found.push(i);
	}
	object = { name: `${parts[1]} == ${parts[2]} (${found.length.toLocaleString()})`, records: found };
	if (!found.length) $("unlike").textContent = "no record has it";
}

// --- Who holds up whom

function element(tag, className, ...children) {
	const e = document.createElement(tag);
	if (className) e.className = className;
	e.append(...children);
	return e;
}

// The lines from a task to those that wait for it: a name for each step to the right.
function treeLines(rows) {
	const follows = [], lines = rows.map(() => []);
	for (let r = rows.length - 1; r >= 0; r--) {
		const depth = Math.min(rows[r].depth, 12);
		follows.length = depth + 1;
		for (let d = 1; d <= depth; d++)
			lines[r].push(d < depth ? (follows[d] ? "through" : "") : follows[d] ? "branch" : "bend");
		follows[depth] = depth > 0;
	}
	// A ring is a line along the left.
	for (let from = 0, to = 0; from < rows.length; from = to) {
		while (to < rows.length && rows[to].tree === rows[from].tree) to++;
		const last = rows.slice(from, to).findLastIndex(row => row.ring);
		for (let k = 0; last >= 0 && k < to - from; k++)
			lines[from + k].unshift(k > last ? "" : !k ? (last ? "first" : "") : k === last ? "bend"
				: rows[from + k].ring ? "branch" : "through");
	}
	return lines;
}

function drawTask(boot, row, width) {
	const track = element("div", "track"), end = endOf(boot);
	const left = ago => `${100 * (1 - ago / width)}%`;
	for (const { ago_ns: ago } of row.marks ?? []) {
		if (ago > width) continue;
		const mark = element("u", "");
		mark.style.left = `min(${left(ago)}, 100% - 2px)`;
		mark.dataset.at = end - ago;
		track.append(mark);
	}
	if (row.silent_ns !== null && row.silent_ns !== undefined) {
		const bar = element("div", "silence");
		bar.style.left = left(row.silent_ns);
		Object.assign(bar.dataset, { from: end - row.silent_ns, to: end });
		track.append(bar);
	}
	const newest = row.marks?.at(-1)?.ago_ns;
	if (newest !== undefined) {
		const said = element("div", "said", element("span", "", row.message), element("em", "",
			row.silent_ns === null ? "newer records are missing" : `silent ${long(row.silent_ns)}`));
		const share = 1 - Math.min(newest / width, 1);
		// On the side of the mark that has room.
		if (share < 0.6) [said.style.left, said.style.right] = [`calc(${100 * share}% + 2px)`, 0];
		else said.style.right = `calc(${100 * (1 - share)}% + 2px)`;
		track.append(said);
		track.title = row.message;
	}
	return track;
}

function drawHang() {
	$("hang").replaceChildren(...about.hang.flatMap(boot => {
		const [worst, ...others] = boot.findings;
		if (!worst) return [];
		const kind = { "none-blocked": " calm", "not-known": " unknown" }[worst.kind] ?? "";
		const banner = element("div", "banner" + kind, element("h2", "",
			(boot.host ? boot.host + ": " : "") + worst.text));
		banner.setAttribute("role", "status");
		if (worst.more) banner.append(element("p", "", worst.more));
		for (const other of others)
			banner.append(element("p", "finding", other.text), ...other.more ? [element("p", "", other.more)] : []);
		if (!boot.rows.length) return [banner];
		const shown = boot.rows.filter(row => row.marks), all = shown.map(row => row.silent_ns ?? 0);
		const width = Math.max(...all, ...all.some(Boolean) ? [] : shown.flatMap(row => row.marks.map(m => m.ago_ns)),
			1000) * 1.2;
		const lines = treeLines(boot.rows);
		const places = boot.rows.map((row, r) => {
			const node = element("span", "node", row.name, ...row.letter?.trim() ? [element("b", "", row.letter)] : []);
			node.title = row.name + (row.state ? `: ${row.state}` : "");
			const who = element("div", "who", ...lines[r].map(line => element("i", line)), node);
			if (row.edge) who.append(element("span", "edge", row.edge));
			who.lastChild.title = row.edge || node.title;
			const place = element("div", "place" + (row.ring || row.depth === 0 ? " root" : "") +
				(row.pid ? " task" : " nobody"), who, drawTask(boot, row, width));
			if (row.pid) place.addEventListener("click", () => { $("find").value = `[${row.pid}]`; filter(); });
			return place;
		});
		if (boot.more) places.push(element("p", "dim", `and ${some(boot.more, "task")} more`));
		const marks = element("div", ""), step = 10 ** Math.floor(Math.log10(width / 2));
		const by = [1, 2, 5].map(m => m * step).find(s => width / s <= (innerWidth < 640 ? 3 : 6)) ?? 5 * step;
		for (let k = Math.floor(width / by); k > 0; k--) {
			const at = element("span", "", `\u2212${long(k * by)}`);
			at.style.left = `${100 * (1 - k * by / width)}%`;
			if (k * by < 0.9 * width && k * by > 0.12 * width) marks.append(at);
		}
		const end = element("span", "", boot.end);
		end.style.left = "100%";
		marks.append(end);
		return [banner, element("div", "tree", ...places, element("div", "scale", element("span", ""), marks))];
	}));
}

// --- What is shown

// What says whether a message has what is searched for; null: all do. An error: it can't be known.
function matcher() {
	const query = $("search").value;
	if (!query) return null;
	const re = query.match(/^\/(.*)\/(i?)$/);
	if (re) {
		const compiled = new RegExp(re[1], re[2]);
		return s => compiled.test(s);
	}
	const lower = query.toLowerCase();
	return s => s.toLowerCase().includes(lower);
}

// The same, and what is wrong with the search: then it finds nothing.
function searched() {
	let wrong = "", match = () => false;
	try {
		match = matcher();
	} catch (e) {
		wrong = e.message;
	}
	$("search").classList.toggle("bad", !!wrong);
	$("wrong").textContent = wrong;
	return match;
}

// Chooses records by everything but time.
function filter() {
	const max = +$("level").value, component = $("component").value, lost = $("lost").checked;
	const match = searched(), text = reader();
	findObject();
	const find = $("find").value.toLowerCase();
	by = $("colour").value;
	if (by === "site") rankSites();
	const siteOk = about.sites.map(s => s.level < 0 ? lost : s.level <= max);
	const laneShown = about.lanes.map((l, i) => (!component || l.component === component) &&
		(!find || `${laneName(i)} ${l.component}`.toLowerCase().includes(find)));
	const laneOk = laneShown.map((is, i) => is && !muted.has(i));
	const found = hits.buffer.byteLength === 4 * n ? new Uint32Array(hits.buffer) : new Uint32Array(n);
	let count = 0;
	for (let i = 0; i < n; i++) {
		const s = sites[i];
		if (!siteOk[s] || !laneOk[lanes[i]]) continue;
		if (match && !match(text(i))) continue;
		found[count++] = i;
	}
	hits = found.subarray(0, count);
	sums = null;
	arrange(laneShown);
	legend();
	between();
	zoomed();
}

// The rows of lanes.
function arrange(shown) {
	const counts = new Uint32Array(about.lanes.length), by = $("sort").value;
	for (let k = 0; k < hits.length; k++) counts[lanes[hits[k]]]++;
	const name = l => `${about.lanes[l].component} ${laneName(l)}`;
	const collator = new Intl.Collator("en", { numeric: true });
	// Lanes are numbered as they were first logged to.
	const order = by === "activity" ? (a, b) => counts[b] - counts[a]
		: by === "suspicion" ? (a, b) => suspicion[a].rank - suspicion[b].rank || suspicion[b].by - suspicion[a].by
		: by === "first" ? (a, b) => a - b : null;
	let list = about.lanes.map((_, l) => l).filter(l => shown[l]);
	if (order) list.sort(order);
	else list = list.map(l => [name(l), l]).sort((a, b) => collator.compare(a[0], b[0])).map(e => e[1]);
	items = object ? [object] : [];
	for (const kind of about.spans) {
		const group = "spans " + kind.name, isFolded = folded.has(group);
		items.push({ name: `${some(kind.count, "span")}: ${kind.name}`, group,
			...isFolded && { spans: kind, row: -1 } });
		for (let row = 0; row < kind.height && !isFolded; row++)
			items.push({ name: row ? `${row + 1} at once` : kind.name, indent: 12, spans: kind, row });
	}
	const grouped = $("group").value;
	if (!grouped) {
		for (const l of list)
			items.push({ name: `${laneName(l)}  ${about.lanes[l].component}`, lanes: [l] });
		return;
	}
	const groups = new Map();
	for (const l of list) {
		const key = grouped === "context" ? laneName(l) : about.lanes[l][grouped] || about.host;
		if (!groups.has(key)) groups.set(key, []);
		groups.get(key).push(l);
	}
	const sum = list => list.reduce((sum, l) => sum + counts[l], 0);
	const sorted = [...groups];
	if (by === "activity") sorted.sort((a, b) => sum(b[1]) - sum(a[1]));
	for (const [key, list] of sorted) {
		const group = `${grouped} ${key}`, isFolded = folded.has(group);
		items.push({ name: `${key} (${list.length})`, group, lanes: isFolded ? list : [] });
		if (isFolded) continue;
		for (const l of list) items.push({ indent: 12, lanes: [l], name: {
			component: laneName(l), context: about.lanes[l].component,
			host: `${about.lanes[l].context}  ${about.lanes[l].component}`,
		}[grouped] });
	}
}

// First of `count` for which `time` is not before `at`.
function search(at, count = hits.length, time = k => times[hits[k]]) {
	let a = 0, b = count;
	while (a < b) {
		const mid = (a + b) >> 1;
		if (time(mid) < at) a = mid + 1; else b = mid;
	}
	return a;
}

function zoomed() {
	const width = Math.min(Math.max(view[1] - view[0], 100), span[1] - span[0]);
	const start = Math.min(Math.max(view[0], span[0]), span[1] - width);
	view = [start, start + width];
	inView = $("inview").checked ? [search(view[0]), search(view[1] + 1)] : [0, hits.length];
	const total = inView[1] - inView[0];
	$("count").textContent = `${total.toLocaleString()} of ${n.toLocaleString()} shown`;
	$("rowspace").style.height = Math.min((slowest?.length ?? total) * ROW, MAX_HEIGHT) + "px";
	toLink();
	draw();
}

// --- What is between the markers

const marked = () => markers.every(m => m !== null) ? [...markers].sort((a, b) => a - b) : null;

// Spans of a kind that overlap a time, by index.
function* spansIn(kind, [from, to]) {
	const start = k => times[kind.pairs[2 * k]];
	for (let k = search(from - kind.longest, kind.count, start); k < kind.count && start(k) <= to; k++)
		if (times[kind.pairs[2 * k + 1]] >= from) yield k;
}

// The slowest ones of all kinds, the slowest first.
function findSlowest() {
	const all = [];
	for (const kind of about.spans)
		for (let k = 0; k < kind.count; k++) {
			const length = lengthOf(kind, k);
			if (length >= kind.least) all.push({ kind, k, length });
		}
	return all.sort((a, b) => b.length - a.length).slice(0, SLOWEST);
}

function between() {
	const range = marked(), parts = [];
	markers.forEach((m, i) => { if (m !== null) parts.push(`${"AB"[i]} ${clock(m)}`); });
	if (range) {
		const [from, to] = [search(range[0]), search(range[1] + 0.5)], sums = {};
		for (let k = from; k < to; k++) {
			const level = levelOf[sites[hits[k]]], name = level < 0 ? "lost" : LEVELS[level];
			sums[name] = (sums[name] || 0) + 1;
		}
		parts.push(`B − A ${long(range[1] - range[0])}`, some(to - from, "record") +
			Object.entries(sums).map(([name, count]) => `, ${count.toLocaleString()} ${name}`).join(""));
		for (const kind of about.spans) {
			const lengths = [];
			for (const k of spansIn(kind, range)) {
				const [a, b] = endsOf(kind, k).map(i => times[i]);
				if (a >= range[0] && b <= range[1]) lengths.push(lengthOf(kind, k));
			}
			lengths.sort((a, b) => a - b);
			const share = share => long(quantile(lengths, share));
			parts.push(`${some(lengths.length, "span")} ${kind.name}` + (lengths.length
				? `: p50 ${share(500)}, p99 ${share(990)}, max ${share(1000)}` : ""));
		}
	}
	$("between").replaceChildren(...parts.map(part => {
		const e = document.createElement("span");
		e.textContent = part;
		return e;
	}));
}

function mark(which) {
	markers[which] = pointer ?? (chosen >= 0 ? times[chosen] : null);
	between();
	toLink();
	draw();
}

// --- Drawing

let pending = false;
function draw() {
	if (pending) return;
	pending = true;
	requestAnimationFrame(() => { pending = false; overview(); drawLanes(); drawRows(); });
}

function canvas(id, height) {
	LABEL = Math.min(260, Math.round(innerWidth * 0.3));
	const c = $(id), ratio = devicePixelRatio || 1, width = c.clientWidth || innerWidth;
	c.style.height = height + "px";
	if (c.width !== Math.round(width * ratio) || c.height !== Math.round(height * ratio)) {
		c.width = Math.round(width * ratio);
		c.height = Math.round(height * ratio);
	}
	const g = c.getContext("2d");
	g.setTransform(ratio, 0, 0, ratio, 0, 0);
	g.clearRect(0, 0, width, height);
	g.font = "11px system-ui, sans-serif";
	return [g, width, height];
}

// Records for each stretch of the whole time, by colour: the same until other ones are shown.
let sums = null;
function count(bins) {
	if (sums?.bins === bins && sums.by === by) return sums;
	const scale = bins / (span[1] - span[0]), all = keys();
	sums = { bins, by, scale, lost: new Uint8Array(bins), of: all.map(() => new Uint32Array(bins)) };
	for (let k = 0; k < hits.length; k++) {
		const i = hits[k], at = Math.min(bins - 1, Math.floor((times[i] - span[0]) * scale));
		const key = keyOf(i);
		if (key === LOST) sums.lost[at] = 1; else sums.of[key][at]++;
	}
	sums.top = 1;
	for (let b = 0; b < bins; b++)
		sums.top = Math.max(sums.top, sums.of.reduce((sum, s) => sum + s[b], 0));
	return sums;
}

function overview() {
	const [g, width, height] = canvas("overview", 76);
	const left = LABEL, bars = Math.max(1, Math.floor((width - left - PAD) / 2));
	const { bins, of, lost, top, scale } = count(bars), usable = height - 16, colors = palette();
	for (let b = 0; b < bins; b++) {
		let y = usable;
		for (let key = of.length - 1; key >= 0; key--) {
			const h = of[key][b] / top * (usable - 6);
			if (!h) continue;
			g.fillStyle = colors[key];
			g.fillRect(left + 2 * b, y - Math.max(h, 1), 2, Math.max(h, 1));
			y -= h;
		}
		if (lost[b]) { g.fillStyle = colors[LOST]; g.fillRect(left + 2 * b, 0, 2, 5); }
	}
	g.fillStyle = css("--dim");
	g.fillText("records", 12, 14);
	g.fillText(`at most ${top.toLocaleString()} in ${long(1 / scale)}`, 12, 28);
	axis(g, left, width, height - 3, span);
	const x = t => left + (t - span[0]) / (span[1] - span[0]) * (width - left - PAD);
	$("overview").ariaLabel = `Records over the whole time: at most ${top.toLocaleString()} in ` +
		`${long(1 / scale)}; in view ${clock(view[0])} to ${clock(view[1])}`;
	g.fillStyle = css("--l3");
	g.globalAlpha = 0.15;
	g.fillRect(x(view[0]), 0, Math.max(2, x(view[1]) - x(view[0])), height);
	g.globalAlpha = 1;
	drawMarkers(g, x, height, false);
}

// Markers, with their names or without.
function drawMarkers(g, x, height, named) {
	g.fillStyle = css("--l0");
	const range = marked();
	if (range) {
		g.globalAlpha = 0.1;
		g.fillRect(x(range[0]), 0, x(range[1]) - x(range[0]), height);
		g.globalAlpha = 1;
	}
	markers.forEach((m, i) => {
		if (m === null || x(m) < LABEL) return;
		g.fillRect(x(m), 0, 1, height);
		if (named) g.fillText("AB"[i], x(m) + 3, height - 18);
	});
}

function axis(g, left, width, y, [from, to]) {
	const raw = (to - from) / Math.max(1, (width - left - PAD) / 110);
	const power = 10 ** Math.floor(Math.log10(raw));
	const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= raw);
	const digits = Math.max(0, Math.min(9, 9 - Math.floor(Math.log10(step))));
	g.fillStyle = css("--dim");
	const zero = about.is_real ? about.real_ns : about.start_s * 1e9 + about.start_ns;
	const start = Math.ceil((zero + from) / step) * step - zero;
	let free = left;
	for (let t = start; t <= to; t += step) {
		const x = left + (t - from) / (to - from) * (width - left - PAD);
		const text = about.is_real
			? date(t + 0.5).slice(11, 20 + digits).replace(/\.$/, "")
			: ((zero + t) / 1e9).toFixed(digits) + " s";
		const size = g.measureText(text).width;
		g.fillRect(x, y - 9, 1, 10);
		// On the other side of the line where there is no more room, or not at all.
		const at = x + 2 + size <= width ? x + 2 : x - 3 - size;
		if (at < free) continue;
		g.fillText(text, at, y);
		free = at + size + 6;
	}
}

function drawLanes() {
	const box = $("lanebox");
	// No more room than all lanes need.
	box.style.flexBasis = `min(34%, ${items.length * LANE + 18}px)`;
	const height = box.clientHeight;
	$("lanespace").style.height = Math.max(0, items.length * LANE + 16 - height) + "px";
	const [g, width] = canvas("lanes", height);
	const first = Math.floor(box.scrollTop / LANE), offset = box.scrollTop % LANE;
	const rows = Math.min(Math.ceil((height - 14) / LANE) + 1, items.length - first);
	const scale = (width - LABEL - PAD) / (view[1] - view[0]), x = t => LABEL + (t - view[0]) * scale;
	const place = new Int32Array(about.lanes.length).fill(-1), colors = palette();
	for (let r = 0; r < rows; r++)
		for (const lane of items[first + r].lanes || []) place[lane] = r;
	// A bar for a pixel of a row, as high as there are many; the most important there is on top of it.
	const NONE = 127, stride = Math.ceil(width), size = rows * stride;
	const most = new Int8Array(size).fill(NONE), least = new Int8Array(size);
	const counts = new Uint32Array(size), lost = new Uint8Array(size);
	let top = 1;
	for (let k = search(view[0]), to = search(view[1] + 1); k < to; k++) {
		const i = hits[k], r = place[lanes[i]];
		if (r < 0) continue;
		const at = r * stride + Math.min(stride - 1, Math.floor(LABEL + (times[i] - view[0]) * scale));
		const key = keyOf(i);
		if (key === LOST) {
			lost[at] = 1;
			continue;
		}
		top = Math.max(top, ++counts[at]);
		most[at] = Math.min(most[at], key);
		least[at] = Math.max(least[at], key);
	}
	const own = items.indexOf(object) - first;
	for (const i of own >= 0 && own < rows ? object.records : []) {
		if (times[i] < view[0] || times[i] > view[1]) continue;
		const at = own * stride + Math.min(stride - 1, Math.floor(LABEL + (times[i] - view[0]) * scale));
		const key = keyOf(i);
		top = Math.max(top, ++counts[at]);
		most[at] = Math.min(most[at], key);
		least[at] = Math.max(least[at], key);
	}
	for (let r = 0; r < rows; r++) {
		const y = r * LANE - offset, item = items[first + r];
		g.fillStyle = css("--line");
		g.fillRect(0, y + LANE - 1, width, 1);
		if (item.spans) drawSpans(g, item, y, x, width);
		g.fillStyle = css("--line");
		g.globalAlpha = 0.5;
		g.fillRect(LABEL, y, Math.min(x(completeFrom(item)), width) - LABEL, LANE - 1);
		g.globalAlpha = 1;
		for (let x = LABEL, wedge = 0; x < stride; x++) {
			const at = r * stride + x, count = counts[at], high = 3 + (LANE - 8) * Math.sqrt(count / top);
			if (count) {
				g.fillStyle = colors[least[at]];
				g.fillRect(x, y + LANE - 2 - high, 1.5, high);
				g.fillStyle = colors[most[at]];
				if (most[at] !== least[at]) g.fillRect(x, y + LANE - 2 - high, 1.5, 3);
			}
			if (!lost[at]) continue;
			// Not only another colour: another form.
			g.fillStyle = colors[LOST];
			g.fillRect(x, y, 1, LANE - 1);
			if (x < wedge) continue;
			wedge = x + 4;
			g.beginPath();
			g.moveTo(x - 3.5, y);
			g.lineTo(x + 4.5, y);
			g.lineTo(x + 0.5, y + 7);
			g.fill();
		}
		g.fillStyle = css("--bg");
		g.fillRect(0, y, LABEL, LANE - 1);
		g.fillStyle = item.lanes?.length && item.lanes.every(l => muted.has(l)) ? css("--line") : css("--fg");
		const fold = item.group ? (folded.has(item.group) ? "▸ " : "▾ ") : "";
		g.save();
		g.beginPath();
		g.rect(0, y, LABEL - 6, LANE);
		g.clip();
		g.fillText(fold + item.name, 12 + (item.indent || 0), y + 13);
		g.restore();
	}
	if (chosen >= 0 && times[chosen] >= view[0] && times[chosen] <= view[1]) {
		g.fillStyle = css("--fg");
		g.fillRect(x(times[chosen]), 0, 1, height);
	}
	drawMarkers(g, x, height, true);
	g.fillStyle = css("--bg");
	g.fillRect(0, height - 14, width, 14);
	axis(g, LABEL, width, height - 3, view);
	$("lanes").ariaLabel = `${some(items.length, "lane")}, from ${clock(view[0])} to ${clock(view[1])}: ` +
		items.slice(first, first + rows).map(item => item.name).join("; ");
}

// How many spans there are at once, in a row for all of them; where slow ones start stands out.
function drawFolded(g, spans, y, x, width) {
	const stride = Math.ceil(width) + 1, changes = new Int32Array(stride), slow = new Uint8Array(stride);
	const pixel = i => Math.max(LABEL, Math.min(stride - 2, Math.floor(x(times[i]))));
	for (const k of spansIn(spans, view)) {
		const [a, b] = endsOf(spans, k).map(pixel);
		changes[a]++;
		changes[b + 1]--;
		if (isSlow(spans, k)) slow[a] = 1;
	}
	const open = changes.map((sum => change => sum += change)(0));
	const top = open.reduce((most, count) => Math.max(most, count), 1);
	for (let x = LABEL; x < stride - 1; x++) {
		const high = open[x] && 3 + (LANE - 8) * Math.sqrt(open[x] / top);
		g.fillStyle = css("--l3");
		g.globalAlpha = 0.5;
		g.fillRect(x, y + LANE - 2 - high, 1, high);
		g.globalAlpha = 1;
		g.fillStyle = css("--slow");
		if (slow[x]) g.fillRect(x, y + 1, 2, LANE - 3);
	}
}

// Bars of one row; slow ones are higher, and on top.
function drawSpans(g, { spans, row }, y, x, width) {
	if (row < 0) return drawFolded(g, spans, y, x, width);
	const slow = [];
	let drawn = LABEL;
	const bar = (k, above) => {
		const a = Math.max(LABEL, x(times[spans.pairs[2 * k]]));
		const b = Math.min(width, x(times[spans.pairs[2 * k + 1]]));
		// What would be within a pixel that is drawn already.
		if (b <= drawn && !above) return;
		g.fillRect(a, y + 4 - above, Math.max(above ? 2 : 1, b - a - 0.5), LANE - 9 + 2 * above);
		drawn = Math.max(drawn, Math.floor(b));
		if (b - a < 60) return;
		g.save();
		g.beginPath();
		g.rect(a, y, b - a - 3, LANE);
		g.clip();
		g.globalAlpha = 1;
		g.fillStyle = css("--fg");
		g.fillText(`${long(lengthOf(spans, k))}  ${oneLine(message(spans.pairs[2 * k]))}`, a + 4, y + 13);
		g.restore();
	};
	g.fillStyle = css("--l3");
	g.globalAlpha = 0.5;
	for (const k of spansIn(spans, view)) {
		if (spans.rows[k] !== row) continue;
		if (isSlow(spans, k)) slow.push(k); else bar(k, 0);
	}
	g.fillStyle = css("--slow");
	g.globalAlpha = 0.8;
	for (const k of slow) bar(k, 3);
	g.globalAlpha = 1;
}

const columns = () => new Set([...document.querySelectorAll("[name=column]:checked")].map(c => c.value));

// Cells of the table's rows: class, heading, text, and which box shows it.
const lane = i => about.lanes[lanes[i]];
const origin = s => s.file ? `${s.file}:${s.line}` : "";
const RECORD = [
	["t", about.is_real ? "date and time (UTC)" : "s since boot", i => clock(times[i])],
	["d", "since before", (i, hit) => hit ? "+" + long(times[i] - times[hits[hit - 1]]) : "", "delta"],
	["w", "date and time (UTC)", i => date(times[i]), "wall"],
	["v", "level", i => site(i).level < 0 ? "lost" : LEVELS[site(i).level]],
	["c", "component", i => lane(i).component],
	["x", "thread or context", i => laneName(lanes[i])],
	// The end of a path tells more than its start.
	["s", "source", i => origin(site(i)).replace(/^.+(?=.{23}$)/, "\u2026"), "source"],
	["a", "arguments", i => oneLine(site(i).args.map((a, k) => `${a.name}=${argument(i, k) ?? ""}`).join(" ")),
		"args"],
	["m", "message", i => oneLine(message(i))],
];
const SPAN = [
	["l", "length", (i, k) => long(slowest[k].length)],
	["t", "start", RECORD[0][2]],
	["k", "span", (i, k) => slowest[k].kind.name],
	["x", "started by", i => laneName(lanes[i])],
	["x", "ended by", (i, k) => laneName(lanes[endsOf(slowest[k].kind, slowest[k].k)[1]])],
	["m", "first and last message", (i, k) =>
		endsOf(slowest[k].kind, slowest[k].k).map(i => oneLine(message(i))).join("  \u2192  ")],
];

function cells(row, list, text) {
	row.setAttribute("role", "row");
	row.replaceChildren(...list.map(cell => {
		const e = document.createElement("span");
		e.className = cell[0];
		e.textContent = text(cell);
		e.setAttribute("role", row.id ? "columnheader" : "cell");
		return e;
	}));
}

function drawRows() {
	const box = $("tablebox"), total = slowest?.length ?? inView[1] - inView[0], also = columns();
	const visible = Math.ceil(box.clientHeight / ROW);
	const list = slowest ? SPAN : RECORD.filter(cell => !cell[3] || also.has(cell[3]));
	cells($("head"), list, cell => cell[1]);
	box.ariaRowCount = total + 1;
	const real = total * ROW, space = Math.min(real, MAX_HEIGHT);
	const range = Math.max(1, space - box.clientHeight);
	let at = real > MAX_HEIGHT
		? Math.round(box.scrollTop / range * Math.max(0, total - visible + 1))
		: Math.floor(box.scrollTop / ROW);
	at = Math.max(0, Math.min(at, total - 1));
	const rows = [];
	for (let k = at; k < Math.min(at + visible, total); k++) {
		const hit = slowest ? k : inView[0] + k;
		const i = slowest ? endsOf(slowest[k].kind, slowest[k].k)[0] : hits[hit], level = site(i).level;
		const row = document.createElement("div");
		row.className = "row" + (i === chosen ? " chosen" : "") + (level < 0 ? " lost" : "");
		if (slowest && isSlow(slowest[k].kind, slowest[k].k)) row.className += " slow";
		row.dataset.at = k;
		row.ariaRowIndex = k + 2;
		row.style.setProperty("--c", css(level < 0 ? "--lost" : "--l" + level));
		cells(row, list, cell => cell[2](i, hit));
		rows.push(row);
	}
	$("rows").replaceChildren(...rows);
}

// --- The record that is chosen

function choose(i, scroll) {
	chosen = i;
	if (i < 0) {
		$("detail").textContent = "";
		return draw();
	}
	const s = site(i), args = s.args.flatMap((a, k) => {
		const text = argument(i, k) ?? "", e = element("span", "arg", `${a.name} = ${text}`);
		e.dataset.object = `arg.${a.name} == ${text}`;
		return ["\n  ", e];
	});
	const place = s.file ? `\n${origin(s)}  ${s.module}\n${s.format}` : "";
	$("detail").replaceChildren(`${clock(times[i])}  ${s.level < 0 ? "lost" : LEVELS[s.level]}  ` +
		`${lane(i).component}  ${laneName(lanes[i])}\n${message(i)}${place}`, ...args);
	if (scroll) {
		if (times[i] < view[0] || times[i] > view[1]) {
			const width = view[1] - view[0];
			view = [times[i] - width / 2, times[i] + width / 2];
			zoomed();
		}
		const box = $("tablebox"), total = inView[1] - inView[0], row = hitOf(i) - inView[0];
		box.scrollTop = total * ROW > MAX_HEIGHT
			? row / total * MAX_HEIGHT : Math.max(0, row * ROW - box.clientHeight / 2);
	}
	draw();
}

// Where a record is among those that are shown: it, or the next one.
function hitOf(i) {
	let k = search(times[i]);
	while (k < hits.length && hits[k] < i && times[hits[k]] === times[i]) k++;
	return k;
}

function step(by) {
	if (!hits.length) return;
	let k = chosen < 0 ? inView[0] : hitOf(chosen) + by;
	if (chosen >= 0 && by > 0 && hits[k - 1] !== chosen) k--;
	choose(hits[Math.max(0, Math.min(hits.length - 1, k))], true);
}

// --- The view as a link

const INPUTS = { q: "search", level: "level", c: "component", find: "find", group: "group",
	sort: "sort", colour: "colour", object: "object" };

let linking;
function toLink() {
	clearTimeout(linking);
	linking = setTimeout(() => history.replaceState(null, "", link()), 300);
}

function link() {
	const p = new URLSearchParams();
	if (view[0] > span[0] || view[1] < span[1]) p.set("t", view.map(Math.round).join("-"));
	for (const [key, id] of Object.entries(INPUTS)) {
		const e = $(id);
		if (e.value !== (e.options ? e.options[0].value : "")) p.set(key, e.value);
	}
	for (const id of ["lost", "inview"]) if (!$(id).checked) p.set(id, "0");
	if (slowest) p.set("spans", "1");
	const cols = [...columns()].join(" ");
	if (cols !== "source") p.set("columns", cols);
	if (muted.size) p.set("hide", [...muted].join(" "));
	markers.forEach((m, i) => { if (m !== null) p.set("AB"[i], Math.round(m)); });
	if (chosen >= 0) p.set("at", chosen);
	return "#" + p;
}

function fromLink() {
	const p = new URLSearchParams(location.hash.slice(1));
	const count = text => text === null || !/^\d+$/.test(text) ? null : +text;
	for (const [key, id] of Object.entries(INPUTS)) {
		const e = $(id), value = p.get(key) ?? "";
		if (!e.options) e.value = value;
		else e.value = [...e.options].some(o => o.value === value) ? value : e.options[0].value;
	}
	for (const id of ["lost", "inview"]) $(id).checked = p.get(id) !== "0";
	const cols = (p.get("columns") ?? "source").split(" ");
	for (const c of document.querySelectorAll("[name=column]")) c.checked = cols.includes(c.value);
	muted = new Set((p.get("hide") ?? "").split(" ").map(count).filter(l => l !== null));
	markers = [count(p.get("A")), count(p.get("B"))];
	show(p.get("spans") === "1" && about.spans.length > 0);
	const t = (p.get("t") ?? "").split("-").map(count);
	view = t.length === 2 && t[0] !== null && t[1] > t[0] ? t : [...span];
	const at = count(p.get("at"));
	filter();
	choose(at !== null && at < n ? at : -1, at !== null && at < n);
}

// --- Pointer

function timeAt(id, event, [from, to]) {
	const box = $(id).getBoundingClientRect();
	return from + (event.clientX - box.left - LABEL) / (box.width - LABEL - PAD) * (to - from);
}

$("overview").addEventListener("pointerdown", down => {
	const start = timeAt("overview", down, span);
	$("overview").setPointerCapture(down.pointerId);
	const move = event => {
		const end = timeAt("overview", event, span);
		view = [Math.min(start, end), Math.max(start, end)];
		zoomed();
	};
	const up = () => $("overview").removeEventListener("pointermove", move);
	$("overview").addEventListener("pointermove", move);
	$("overview").addEventListener("pointerup", up, { once: true });
});

// Makes the view so many times as long; `at` stays where it is.
function zoom(factor, at) {
	view = [at - (at - view[0]) * factor, at + (view[1] - at) * factor];
	zoomed();
}

// Moves it by so much of its length.
function pan(by) {
	const width = view[1] - view[0];
	view = [view[0] + by * width, view[1] + by * width];
	zoomed();
}

$("lanes").addEventListener("wheel", event => {
	// Over the names, it scrolls.
	if (event.clientX - $("lanes").getBoundingClientRect().left < LABEL) return;
	event.preventDefault();
	if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey)
		pan((event.deltaX || event.deltaY) / 800);
	else
		zoom(Math.exp(event.deltaY / 400), timeAt("lanes", event, view));
}, { passive: false });

// From when on all lanes of a row are complete.
const completeFrom = item => Math.max(...(item.lanes || []).map(l => complete[l]), -Infinity);

function reach(item) {
	const from = completeFrom(item);
	return item.lanes?.length ? `\ncomplete ${from > -Infinity ? `since ${clock(from)}` : "here"}` : "";
}

// The row of lanes under the pointer.
function itemAt(event) {
	const y = event.clientY - $("lanes").getBoundingClientRect().top + $("lanebox").scrollTop;
	return items[Math.floor(y / LANE)];
}

// The record that is nearest, how many there are so near, or the span.
function under(event, pixels) {
	const item = itemAt(event), box = $("lanes").getBoundingClientRect();
	const time = timeAt("lanes", event, view);
	const near = (view[1] - view[0]) / (box.width - LABEL - PAD) * pixels;
	const found = { best: -1, count: 0, span: -1, item };
	if (item?.spans) {
		for (const k of spansIn(item.spans, [time - near / 4, time + near / 4]))
			if (item.row < 0 || item.spans.rows[k] === item.row) found.span = k;
		if (found.span >= 0) found.best = item.spans.pairs[2 * found.span];
	}
	for (const i of item?.records ?? []) {
		if (Math.abs(times[i] - time) > near) continue;
		found.count++;
		if (found.best < 0 || Math.abs(times[i] - time) < Math.abs(times[found.best] - time)) found.best = i;
	}
	const of = new Set(item?.lanes);
	if (!of.size) return found;
	for (let k = search(time - near), to = search(time + near); k < to; k++) {
		const i = hits[k];
		if (!of.has(lanes[i])) continue;
		found.count++;
		if (found.best < 0 || Math.abs(times[i] - time) < Math.abs(times[found.best] - time)) found.best = i;
	}
	return found;
}

$("lanes").addEventListener("pointerdown", down => {
	const start = [...view], from = down.clientX, box = $("lanes").getBoundingClientRect();
	if (down.clientX - box.left < LABEL) {
		const item = itemAt(down);
		if (!item) return;
		if (item.records) $("object").value = "";
		else if (item.group) {
			if (!folded.delete(item.group)) folded.add(item.group);
		} else {
			for (const lane of item.lanes || []) if (!muted.delete(lane)) muted.add(lane);
		}
		return filter();
	}
	let moved = false;
	$("lanes").setPointerCapture(down.pointerId);
	const move = event => {
		if (Math.abs(event.clientX - from) < 3 && !moved) return;
		moved = true;
		const by = (from - event.clientX) / (box.width - LABEL - PAD) * (start[1] - start[0]);
		view = [start[0] + by, start[1] + by];
		zoomed();
	};
	$("lanes").addEventListener("pointermove", move);
	$("lanes").addEventListener("pointerup", event => {
		$("lanes").removeEventListener("pointermove", move);
		if (moved) return;
		const { best } = under(event, 8);
		if (best >= 0) choose(best, true);
	}, { once: true });
});

$("lanes").addEventListener("dblclick", event => {
	if (event.clientX - $("lanes").getBoundingClientRect().left >= LABEL) return;
	const own = new Set(itemAt(event)?.lanes);
	if (!own.size) return;
	muted = new Set(about.lanes.map((_, l) => l).filter(l => !own.has(l)));
	filter();
});

$("lanes").addEventListener("pointermove", event => {
	const isLabel = event.clientX - $("lanes").getBoundingClientRect().left < LABEL;
	pointer = isLabel ? null : Math.min(Math.max(timeAt("lanes", event, view), span[0]), span[1]);
	const { best, count, span: k, item } = isLabel ? { best: -1, item: itemAt(event) } : under(event, 4);
	let text = isLabel && item ? item.name + reach(item) : "";
	if (best >= 0) {
		const s = site(best);
		text = `${clock(times[best])} ${s.level < 0 ? "lost" : LEVELS[s.level]} ${lane(best).component} ` +
			`${laneName(lanes[best])}\n${message(best).slice(0, 300)}`;
		if (k >= 0) {
			const end = item.spans.pairs[2 * k + 1];
			text += `\n${long(times[end] - times[best])} later\n${message(end).slice(0, 300)}`;
		} else if (count > 1) text += `\nand ${count - 1} more here`;
	}
	$("tip").hidden = !text;
	$("tip").textContent = text ?? "";
	$("tip").style.left = Math.max(0, Math.min(event.clientX + 12, innerWidth - $("tip").offsetWidth - 8)) + "px";
	$("tip").style.top = event.clientY + 14 + "px";
});
$("lanes").addEventListener("pointerleave", () => { pointer = null; $("tip").hidden = true; });

// Not "click", which is lost if rows are drawn anew while the button is down.
$("rows").addEventListener("pointerup", event => {
	const row = event.button === 0 && event.target.closest(".row");
	if (!row) return;
	if (!slowest) return choose(hits[inView[0] + +row.dataset.at], false);
	// The span, with some room around it.
	const { kind, k } = slowest[row.dataset.at], [first, last] = endsOf(kind, k);
	markers = [times[first], times[last]];
	choose(first, false);
	between();
	const room = Math.max(lengthOf(kind, k), 100) / 4;
	view = [markers[0] - room, markers[1] + room];
	zoomed();
});

// Whether the table has the slowest spans, or records.
function show(spans) {
	slowest = spans ? findSlowest() : null;
	$("records").ariaSelected = String(!spans);
	$("spans").ariaSelected = String(spans);
	$("tablebox").ariaLabel = spans ? "Slowest spans" : "Records";
	$("tablebox").scrollTop = 0;
}

// --- Keys

const middle = () => pointer ?? (view[0] + view[1]) / 2;
const KEYS = {
	w: () => zoom(0.7, middle()), s: () => zoom(1 / 0.7, middle()),
	a: () => pan(-0.2), d: () => pan(0.2), ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2),
	n: () => step(1), N: () => step(-1), ArrowDown: () => step(1), ArrowUp: () => step(-1),
	"/": () => { $("search").focus(); $("search").select(); },
	"[": () => mark(0), "]": () => mark(1),
	z: () => { view = marked() ?? view; zoomed(); },
	0: () => { view = [...span]; zoomed(); },
	"?": () => $("help").showModal(),
	Escape: () => { markers = [null, null]; between(); toLink(); choose(-1, false); },
};

document.addEventListener("keydown", event => {
	if (event.ctrlKey || event.altKey || event.metaKey || $("help").open) return;
	if (event.target.closest("input[type=search], select")) {
		if (event.key === "Escape" || event.key === "Enter") event.target.blur();
		return;
	}
	if (!Object.hasOwn(KEYS, event.key)) return;
	event.preventDefault();
	KEYS[event.key]();
});

// --- Everything else

$("tablebox").addEventListener("scroll", draw);
$("lanebox").addEventListener("scroll", draw);
for (const id of ["level", "component", "lost", "group", "sort", "colour"])
	$(id).addEventListener("change", filter);
for (const c of document.querySelectorAll("[name=column]"))
	c.addEventListener("change", () => { toLink(); draw(); });
$("inview").addEventListener("change", zoomed);
for (const id of ["records", "spans"])
	$(id).addEventListener("click", () => { show(id === "spans"); zoomed(); });
let typing;
for (const id of ["search", "find", "object"])
	$(id).addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(filter, 200); });
$("all").addEventListener("click", () => { view = [...span]; zoomed(); });
$("detail").addEventListener("click", event => {
	const arg = event.target.closest(".arg");
	if (arg) { $("object").value = arg.dataset.object; filter(); }
});
$("fold").addEventListener("click", () => {
	$("fold").ariaExpanded = String(document.body.classList.toggle("unfolded"));
	draw();
});
$("lanesall").addEventListener("click", () => { muted.clear(); $("find").value = ""; filter(); });
$("keys").addEventListener("click", () => $("help").showModal());
$("link").addEventListener("click", async () => {
	history.replaceState(null, "", link());
	try {
		await navigator.clipboard.writeText(location.href);
		$("link").textContent = "Link copied";
	} catch {
		$("link").textContent = "Link is in the address bar";
	}
	setTimeout(() => { $("link").textContent = "Link"; }, 2000);
});
addEventListener("hashchange", fromLink);
addEventListener("resize", () => { drawHang(); draw(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { legend(); draw(); });
drawHang();
load().then(() => { document.body.dataset.ready = n; }, e => {
	$("error").hidden = false;
	$("error").textContent = `The report can't be shown: ${e}`;
});
