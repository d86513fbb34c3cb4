// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// Conditions on records, in the language of the decoder's --where and with its answers. What a report
// doesn't have is refused, as is a comparison that the decoder refuses.
//
// A value is what a comparison needs to know of it: a BigInt, a string, true or false, or an object
// of a level or an error.

const { condition, typed } = (() => {

const LEVELS = ["err", "warn", "info", "debug", "trace"];
const SAME = { emerg: "err", alert: "err", crit: "err", error: "err", warning: "warn", notice: "info" };
const CONTEXTS = ["task", "softirq", "hardirq", "nmi"];
const TEXTS = ["host", "component", "comm", "module", "file", "format", "message", "context"];
const NUMBERS = ["cpu", "pid", "line"];
const ABSENT = ["boot_id", "tgid", "site", "image", "function", "class"];
const OPERATORS = {
	"==": o => o === 0, "!=": o => o !== 0, "<": o => o < 0, "<=": o => o <= 0,
	">": o => o > 0, ">=": o => o >= 0,
};

const levelNamed = word => LEVELS.indexOf(SAME[word] ?? word) + 1;
const order = (a, b) => a < b ? -1 : a > b ? 1 : 0;

// How two values compare; undefined: they don't.
function compare(a, b) {
	const [x, y] = [a, b].map(v => typeof v);
	if (x === y && x !== "object") return order(a, b);
	if (x !== "object" && y === "object") {
		const other = compare(b, a);
		return other === undefined ? other : -other;
	}
	if (x === "boolean" && y === "string")
		return b === "true" || b === "false" ? order(a, b === "true") : undefined;
	if (x === "string" && y === "boolean") return compare(b, a) * -1;
	if (x !== "object") return undefined;
	if (a.level) {
		if (y === "bigint") return order(BigInt(a.level), b);
		if (y === "string") return levelNamed(b) ? order(a.level, levelNamed(b)) : undefined;
		return b.level ? order(a.level, b.level) : undefined;
	}
	if (y === "bigint") return order(a.errno, b);
	if (y === "string") return a.all[b] ? order(a.errno, BigInt(-a.all[b])) : undefined;
	return b.errno === undefined ? undefined : order(a.errno, b.errno);
}

const truth = v => typeof v === "object" ? true : typeof v === "bigint" ? v !== 0n : Boolean(v);

// Reads a condition; `field` makes of a name what says of a record which value it has. An error is
// one of the reader of the report.
function condition(source, field) {
	let rest = source;
	const take = sign => {
		rest = rest.trimStart();
		const is = rest.startsWith(sign);
		if (is) rest = rest.slice(sign.length);
		return is;
	};
	const fail = what => { throw Error(what); };

	const number = () => {
		const [word, minus, digits] = rest.match(/^(-?)([0-9A-Za-z_]*)/);
		const [, body, suffix] = digits.replaceAll("_", "").match(/^(.*?)([kKMG]?)$/);
		const shift = suffix === "" ? 0n : 10n * BigInt(1 + "kMG".indexOf(suffix.replace("K", "k")));
		if (!/^([0-9]+|0x[0-9a-f]+|0o[0-7]+|0b[01]+)$/i.test(body)) fail("not a number");
		rest = rest.slice(word.length);
		const n = BigInt(body) << shift;
		return { value: minus ? -n : n };
	};
	const string = quote => {
		let text = "";
		for (let i = 1; i < rest.length; i++) {
			let c = rest[i];
			if (c === quote) {
				rest = rest.slice(i + 1);
				return { value: text };
			}
			if (c === "\\" && i + 1 < rest.length) {
				c = rest[++i];
				text += c === "n" ? "\n" : c === "t" ? "\t" : "\\\"'".includes(c) ? c : "\\" + c;
			} else text += c;
		}
		return fail("this string does not end");
	};
	const operand = () => {
		rest = rest.trimStart();
		if (/^["']/.test(rest)) return string(rest[0]);
		if (/^[0-9-]/.test(rest)) return number();
		const word = rest.match(/^[\p{L}_][\p{L}\p{N}_.\-/]*/u)?.[0] ?? fail("a value is expected");
		rest = rest.slice(word.length);
		if (ABSENT.includes(word)) fail(`a report has no ${word}`);
		const is = [...TEXTS, ...NUMBERS, "level"].includes(word) || word.startsWith("arg.");
		return is ? { name: word, get: field(word) } : { value: word };
	};
	// As the decoder, which refuses what could never be true.
	const check = (a, sign, b) => {
		if (!a.name) return a.value !== undefined && b.name ? check(b, sign, a) : fail("no field is compared");
		const isOrder = sign !== "==" && sign !== "!=";
		if (isOrder && (a.name === "context" || b.name === "context")) fail("contexts have no order");
		const v = b.value, is = typeof v;
		if (NUMBERS.includes(a.name) && (is === "string" || TEXTS.includes(b.name))) fail("a number");
		if (TEXTS.includes(a.name) && (is === "bigint" || NUMBERS.includes(b.name))) fail("text");
		if (a.name === "level" && is === "string" && !levelNamed(v)) fail("no level");
		if (a.name === "context" && is === "string" && !CONTEXTS.includes(v)) fail("no context");
		return undefined;
	};
	const value = (a, i) => a.get ? a.get(i) : a.value;

	const comparison = () => {
		const a = operand();
		for (const [sign, wanted] of [["=~", true], ["!~", false]]) {
			if (!take(sign)) continue;
			const { value: pattern } = operand();
			if (!a.name || NUMBERS.includes(a.name)) fail("only text matches");
			if (typeof pattern !== "string") fail("a regular expression is expected");
			const regex = new RegExp(pattern, "u");
			return i => {
				let is = a.get(i);
				if (is?.level) is = LEVELS[is.level - 1];
				if (is?.errno !== undefined) is = is.name ?? String(is.errno);
				return typeof is === "string" && regex.test(is) === wanted;
			};
		}
		// Longer ones first.
		for (const sign of ["==", "!=", "<=", ">=", "<", ">"]) {
			if (!take(sign)) continue;
			const b = operand();
			check(a, sign, b);
			return i => {
				const [x, y] = [value(a, i), value(b, i)];
				const o = x === undefined || y === undefined ? undefined : compare(x, y);
				return o !== undefined && OPERATORS[sign](o);
			};
		}
		if (!a.name) fail("a field is expected");
		return i => {
			const is = a.get(i);
			return is !== undefined && truth(is);
		};
	};
	const not = () => {
		if (take("(")) {
			const inner = or();
			return take(")") ? inner : fail("\")\" is expected");
		}
		rest = rest.trimStart();
		if (!rest.startsWith("!~") && take("!")) {
			const inner = not();
			return i => !inner(i);
		}
		return comparison();
	};
	const list = (next, sign, combine) => {
		const all = [next()];
		while (take(sign)) all.push(next());
		return all.length === 1 ? all[0] : combine(all);
	};
	const and = () => list(not, "&&", all => i => all.every(is => is(i)));
	const or = () => list(and, "||", all => i => all.some(is => is(i)));
	const whole = or();
	return rest.trim() === "" ? whole : fail("the end is expected");
}

// What an argument is by its text in the message: of a class, and with digits of a base. Undefined:
// there is none.
function typed(text, { class: kind, base, debug }, errnos) {
	const inner = text.match(/^(Some|Ok|Err)\(([\s\S]*)\)$/);
	const is = inner && kind !== "text" ? inner[2] : text;
	if (inner?.[1] === "Err") kind = "errno";
	if (kind === "number") {
		const [, sign, digits] = is.trim().match(/^([+-]?)(?:0[xob])?([0-9a-f_]+)$/i) ?? [];
		if (digits === undefined) return undefined;
		const radix = is.match(/^[+-]?\s*0([xob])/i)?.[1].toLowerCase();
		const prefix = radix ? "0" + radix : { 2: "0b", 8: "0o", 16: "0x" }[base] ?? "";
		try {
			const n = BigInt(prefix + digits.replaceAll("_", ""));
			return sign === "-" ? -n : n;
		} catch {
			return undefined;
		}
	}
	if (kind === "bool") return is === "true" ? true : is === "false" ? false : undefined;
	if (kind === "errno") {
		const name = is.trim();
		if (errnos[name]) return { errno: BigInt(-errnos[name]), name, all: errnos };
		return /^-?[0-9]+$/.test(name) ? { errno: BigInt(name), all: errnos } : undefined;
	}
	if (kind === "variant") return is.match(/^[\p{L}_][\p{L}\p{N}_]*/u)?.[0];
	if (kind !== "text") return undefined;
	if (!debug || !/^".*"$/s.test(text)) return text;
	// In quotes, as {:?} has it.
	return text.slice(1, -1).replace(/\\(?:u\{([0-9a-f]+)\}|x([0-9a-f]{2})|(.))/g, (_, u, x, c) =>
		u || x ? String.fromCodePoint(parseInt(u ?? x, 16))
			: { n: "\n", r: "\r", t: "\t", 0: "\0" }[c] ?? c);
}

return { condition, typed };
})();
