#!/usr/bin/env python3
"""A second verifier of handoff ledgers, written from ledger-format.md alone.

It shares no code with the program, so what both say of a ledger is what the text says. It reads an
export or a ledger file, writes nothing, and runs nothing. Python 3.11 and `cryptography`.

    handoff_verify.py FILE [--trust HEX] [--expect HEAD] [--at SEQ] [--json]

exits 0 (verified), 2 (usage), 3 (self_consistent, undetermined, incomplete, empty), 4 (tampered,
unlawful) or 5 (error). `--at SEQ` asks all sessions at that event, in place of each at its end.

    handoff_verify.py --serve

reads one request from each line of standard input, and answers each with one line of JSON:

    {"path": FILE, "kind": "export" or "sqlite", "root": HEX or null, "expect": HEAD or null,
     "sessions": true, "at": SEQ or null, "known": {"SEQ": LEAF}}

`path` is needed; without `kind` the file's first bytes decide; `known` are records verified
before. The answer has these members, whatever came in:

    {"result": "verified", "events": N, "head": {"seq": N, "hash": HEX} or null,
     "faults": [{"seq": N or null, "kind": K}], "refused": [{"seq": N, "rule": R}], "voided": [N],
     "checkpoint": TEXT or null, "error": TEXT or null,
     "sessions": [{"session": S, "at": N, "axes": [{"axis": NAME, "seq": N, "verdict": V,
                   "reason": R or null}], "admissible": [CLAIM], "claims": [{"claim": C, "state": T}]}]}

`events`, `head`, `checkpoint`, `refused`, `voided` and `sessions` are of the intact prefix, ascending.
A session is shown at its seal or abandonment, or at the head while open, by the time of that event:
`axes` are all axes of its lineage, by seq; `claims` all claims spoken of by then, by id.
"""
import argparse
import base64
import functools
import hashlib
import ipaddress
import itertools
import json
import operator
import re
import sqlite3
import sys
from collections import defaultdict
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

MAX_INTEGER, MAX_NUMBER, ENDLESS = 2**53 - 1, 2**64 - 1, float("inf")

def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).hexdigest()


# Section 5, and the closed lists of section 6: texts, as patterns of bytes; <name> is another one.
TEXTS = dict(line.split(None, 1) for line in r"""
name            [a-z0-9][a-z0-9._/-]{0,63}
text            (?=.*[^ \t-\r]).{1,4096}
value           .{0,4096}
string          .*
digest          [0-9a-f]{64}
variable        [A-Za-z_][A-Za-z0-9_]{0,63}
kind            (?=.{1,64}\Z)[a-z_]+(\.[a-z_]+)+
time            \d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z
role            admin|recorder
class           execution_topology|dependency_version|reachability
end             exited|signaled|timed_out|not_found|not_executable|interrupted|checked|failed
same            same|different
discarded       no_derivation|no_step|vacuous_step|redundant|withdrawn
refused         probe_failed|axis_not_held|from_not_admissible
unverifiable    not_run|no_exec|untrusted|salt_missing
decision        allowed|refused
word            [^\0]{0,4096}
cwd             (?=.{1,4096}\Z)(\.|/|/?<part>(/<part>)*)
part            (?!\.\.?(/|\Z))[^/\0]+
passed          (?!(HOME|LC_ALL|NO_COLOR|PATH|TERM|TZ)\Z)<variable>
check           os|arch|user|privileges|mount-root|netns|env(-set)?=<variable>|file-sha256=<path>|<tcp>|<http>|<schema>
path            [^\0]{1,2000}
schema          schema=[^\0,]{1,2000},[^\0,]{1,2000}
tcp             tcp=([A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]+\]):<port>
port            6553[0-5]|655[0-2]\d|65[0-4]\d\d|6[0-4]\d{3}|[1-5]\d{4}|[1-9]\d{0,3}
http            http=(?!.{2049})https?://[!-"$-.0->A-~]+([/?][!-"$-~]*)?
extract         trim|line:(1000000|[1-9]\d{0,5})|regex:<re>|json:(?!.{4096})(/([^~/]|~[01])*)*|sha256|none
re              .{1,1024}
expect          (?=.{1,4096}\Z)(value=.*|(value|stdout|stderr)~<re>|semver=.*|json:(/([^~/=]|~[01])*)*=.*|exit=<byte>)
byte            25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d
comparator      exact|present|semver=.*|one-of=(?!.{4097})[^,]+(,[^,]+){0,63}
""".strip().splitlines())
INTEGERS = {"seq": (0, MAX_INTEGER), "positive": (1, MAX_INTEGER), "count": (0, MAX_INTEGER - 1),
            "timeout": (1, 3_600_000), "exit": (0, 255), "signal": (1, 64)}
# Sections 3, 5 and 6: objects, as members and their types. ? is optional, * an array, < one that
# ascends strictly (objects by axis or name), + a set that is not empty.
RECORDS = dict(line.split(": ") for line in """
envelope: body:object key:digest kind:kind prev:digest seq:seq session:seq time:time v:positive
probe: argv?:word* check?:check cwd:cwd env:passed< exit_only:boolean expect:expect* extract:extract \
redact:boolean shell:boolean timeout_ms:timeout
policy: asserted_values:boolean four_eyes:boolean
compared: axis:seq result:same
met: met:boolean met_by_empty:boolean
file: digest:digest path:string
outcome: end:end exit?:exit signal?:signal
outputs: stderr:stream stdout:stream
stream: kept:bytes whole:bytes
bytes: commitment:digest length:count
redacted: commitment:digest salt_digest:digest
drift: name:name observed:value* reason:text
need: axis:name comparator?:comparator probe_digest?:digest
directive: do_not_act_on:name until_probe:digest
counts: ambient:count axes:count claims:count discards:count flags:count promotions:count \
receipts:count retractions:count
entry: axis:seq asserted?:value receipt?:seq unverifiable?:unverifiable
ledger.opened: name:name nonce:digest policy:policy rules:positive
ledger.upgraded: rules:positive v:positive
key.authorized: key:digest label:name roles:role+
key.revoked: compromised_since?:seq key:digest reason:text
session.opened: agent:name inherits:seq< purpose?:text scope:digest
session.abandoned: reason:text session:seq
session.sealed: boundary_digest:digest counts:counts
probe.begun: claim:name flag:seq probe_digest:digest
probe.receipt: begun?:seq compared:compared< duration_ms:count executable?:file expectations:met* \
extracted:boolean files:file* outcome:outcome outputs?:outputs pipe_held:boolean probe:probe \
probe_digest:digest redacted?:redacted scope:digest value?:value
axis.recorded: axis:name class:class comparator:comparator max_age_ms?:positive receipt:seq
ambient.declared: entries:drift<
claim.verified: claim:name from:name< independent?:text needs:seq< receipts:seq+ statement:text
claim.flagged: claim:name derivation:value directive:directive executable?:file files:file* \
independent?:text met_by_empty:boolean* needs:need< statement:text step:probe step_digest:digest
claim.promoted: claim:name flag:seq from:name< independent?:text needs:seq< receipt:seq
claim.promotion_refused: claim:name flag:seq receipt:seq why:refused
claim.retracted: claims:name+ reason:text receipt?:seq
claim.discarded: claim:name flag?:seq reason?:text statement:text why:discarded
boundary.reverified: entries:entry<
action.gated: argv:value* claims:name+ decision:decision
action.finished: gate:seq outcome:outcome
capture.erased: commitments:digest+ reason:text
event.acknowledged: reason:text up_to:seq
""".replace("\\\n", "").strip().splitlines())
KINDS = {name for name in RECORDS if "." in name}
RECORDS = {name: dict(member.split(":") for member in line.split()) for name, line in RECORDS.items()}


def pattern(name):
    return re.sub("<([a-z]+)>", lambda inner: f"(?:{pattern(inner[1])})", TEXTS[name].strip())


TEXTS = {name: re.compile(pattern(name).encode(), re.DOTALL) for name in TEXTS}


def fits(value, of):
    """Is a value of the type of that name?"""
    if of[-1] in "*<+":
        if not isinstance(value, list) or not all(fits(each, of[:-1]) for each in value):
            return False
        keys = [each.get("axis", each.get("name")) if isinstance(each, dict) else each for each in value]
        return of[-1] == "*" or (all(map(operator.lt, keys, keys[1:])) and (of[-1] == "<" or bool(keys)))
    if of in RECORDS:
        if not isinstance(value, dict):
            return False
        for name in [name for name, each in value.items() if each is None and name + "?" in RECORDS[of]]:
            del value[name]  # so that what is written again differs: not_canonical
        types = {name.rstrip("?"): kind for name, kind in RECORDS[of].items()}
        return ({name for name in RECORDS[of] if name[-1] != "?"} <= value.keys() <= types.keys()
                and all(fits(each, types[name]) for name, each in value.items())
                and not rejects(value, of))
    if of in INTEGERS:
        return type(value) is int and INTEGERS[of][0] <= value <= INTEGERS[of][1]
    if of in TEXTS:
        return isinstance(value, str) and bool(TEXTS[of].fullmatch(value.encode())) and not rejects(value, of)
    return isinstance(value, {"boolean": bool, "object": dict}[of])


def rejects(it, of):
    """What section 5 and 6 reject beyond the form."""
    match of:
        case "comparator" | "expect" if it.startswith("semver="):
            return requirement(it[7:]) is None
        case "comparator" if it.startswith("one-of="):
            return len(set(it[7:].split(","))) < it.count(",") + 1
        case "check" if it.startswith("tcp=["):
            try:
                return not ipaddress.IPv6Address(it[5:it.index("]")])
            except ValueError:
                return True
        case "time":
            return time_of(it) is None
        case "policy" | "counts":
            return False
        case "outcome":
            return ("exit" in it, "signal" in it) != (it["end"] == "exited", it["end"] == "signaled")
        case "entry":
            return len(it) != 2
        case "probe":
            kinds = [KIND.match(each)[0] for each in it["expect"]]
            argv, check, value_kinds = it.get("argv", []), it.get("check"), {"value=", "value~", "semver="}
            if len(kinds) > 32 or kinds.count("exit=") > 1 or len(it["env"]) > 64 or (
                    it["extract"] == "none" and value_kinds & set(kinds)):
                return True
            if check is None:
                return not 0 < len(argv) <= 256 or argv[0] == "" or it["shell"] and len(argv) != 1
            return ("argv" in it or it["shell"] or it["exit_only"] or it["env"] != []
                    or it["extract"] != "trim" or bool(set(kinds) - value_kinds)
                    or it["redact"] and check.startswith(("tcp=", "http=", "schema=")))
        case "probe.receipt":
            probe, end = it["probe"], it["outcome"]["end"]
            started = "argv" in probe and end not in ("not_found", "not_executable")
            return (len(it["expectations"]) != len(probe["expect"]) or ("outputs" in it) != started
                    or "redacted" in it and not (probe["redact"] and it["extracted"])
                    or "value" in it and (probe["redact"] or not it["extracted"]))
        case "claim.flagged":
            return len(it["met_by_empty"]) != len(it["step"]["expect"])
        case "claim.discarded":
            return ("flag" in it, "reason" in it) != (it["why"] == "withdrawn",) * 2
        case "action.gated":
            return not 0 < len(it["argv"]) <= 256
    return False


# Section 3: canonical form.
def canonical(value):
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def read_object(pairs):
    if len(dict(pairs)) < len(pairs) or not all(re.fullmatch("[a-z0-9_]+", name) for name, _ in pairs):
        raise ValueError("a member twice, or of another name")
    return dict(pairs)


def read_number(digits):
    if not re.fullmatch("0|-?[1-9][0-9]{0,15}", digits) or abs(int(digits)) > MAX_INTEGER:
        raise ValueError("a number that is no integer of 53 bits")
    return int(digits)


READER = json.JSONDecoder(object_pairs_hook=read_object, parse_int=read_number,
                          parse_float=read_number, parse_constant=read_number)


def depth(value):
    if value is None:
        raise ValueError("null is no value")
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(map(depth, inner), default=0) if isinstance(value, dict | list) else 0


def time_of(text):
    """Milliseconds since 1970, or none. Python knows no year 0: it is as year 400, 146,097 days on."""
    leap, early = (146_097, "0400") if text[:4] == "0000" else (0, text[:4])
    try:
        since = datetime.fromisoformat(early + text[4:-1]) - datetime(1970, 1, 1)
    except ValueError:
        return None
    return since // timedelta(milliseconds=1) - leap * 86_400_000


def read_event(data):
    """The event in these bytes, or none, and whether they are its canonical form."""
    try:
        it = READER.decode(data.decode())
        known = fits(it, "envelope") and it["v"] == 1 and it["kind"] in KINDS
        if not (fits(it["body"], it["kind"]) if known else fits(it, "envelope") and depth(it["body"]) <= 32):
            return None, False
        same = canonical(it) == data
    except (ValueError, RecursionError):
        return None, False
    return SimpleNamespace(**it | {"time": time_of(it["time"])}), same


# Section 4: Ed25519. Points are (X, Y, Z, T), RFC 8032 section 5.1.4.
P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P


def add(a, b):
    s, t = (a[1] - a[0]) * (b[1] - b[0]), (a[1] + a[0]) * (b[1] + b[0])
    u, v = 2 * a[3] * b[3] * D, 2 * a[2] * b[2]
    e, f, g, h = (t - s) % P, (v - u) % P, (v + u) % P, (t + s) % P
    return e * f % P, g * h % P, f * g % P, e * h % P


def is_identity(n, point):
    """Is [n]point the identity?"""
    total = (0, 1, 1, 0)
    for bit in f"{n:b}":
        total = add(total, total)
        total = add(total, point) if bit == "1" else total
    return total[0] == 0 and total[1] == total[2]


def decode_point(encoding):
    """The point that 32 bytes encode by rules 1, 2 and 6, or none."""
    sign, y = divmod(int.from_bytes(encoding, "little"), 2**255)
    u, v = (y * y - 1) % P, (D * y * y + 1) % P
    x = u * v**3 * pow(u * v**7, (P - 5) // 8, P) % P
    x = x if (v * x * x - u) % P == 0 else x * pow(2, (P - 1) // 4, P) % P
    if y >= P or (v * x * x - u) % P or (x == 0 and sign):
        return None
    x = x if x & 1 == sign else P - x
    return x, y, 1, x * y % P


@functools.lru_cache(4096)
def key_is_sound(key):
    point = decode_point(bytes.fromhex(key))
    return point is not None and not is_identity(8, point) and is_identity(L, point)


def signature_is_valid(key, signature, message):
    """Rules 5 to 8 under a sound key. OpenSSL encodes [S]B - [k]A and compares the bytes with R: rule
    8, without cofactor. The rules on S and R alone are checked here, so that no build can differ."""
    r = decode_point(signature[:32])
    if int.from_bytes(signature[32:], "little") >= L or r is None or is_identity(8, r):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(signature, message)
    except InvalidSignature:
        return False
    return True


# Section 7: the chain.
def walk(records, known):
    """The events of the intact prefix, all leaves, and the faults, of (position, record) in order."""
    events, leaves, faults = [], [], []
    for seq, (position, record) in enumerate(records):
        event, same = read_event(record[64:])
        if not 65 <= len(record) <= 65_535:
            found = {"length": True}
        elif event is None or not same:
            found = {"malformed": event is None, "not_canonical": event is not None}
        else:
            pae = b"DSSEv1 44 application/vnd.handoff-ledger.event.v1+json %d " % (len(record) - 64)
            sound = key_is_sound(event.key)
            found = {"seq": position != seq or event.seq != seq,
                     "link": event.prev != (leaves[-1] if leaves else "0" * 64),
                     "genesis": seq == 0 and (event.kind, event.v) != ("ledger.opened", 1),
                     "key": not sound, "signature": sound and not signature_is_valid(
                         event.key, record[:64], pae + record[64:])}
        leaves.append(sha256(b"\0", record))
        faults += [(seq, fault) for fault, there in found.items() if there]
        if not faults:
            events.append(event)
    for seq, leaf in sorted(known.items()):
        if seq >= len(leaves) or leaves[seq] != leaf:
            faults.append((seq, "replaced" if seq < len(leaves) else "missing"))
    return events, leaves, faults


# Section 5.2: versions, as ([numbers given], [identifiers of the pre-release]).
PRE = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
VERSION = re.compile(rf"()([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?(?:-({PRE}))?")
WANTED = re.compile(rf"([=~^]|[<>]=?)(N)(?:\.(N)(?:\.(N)(?:-({PRE}))?)?)?".replace("N", "0|[1-9][0-9]*"))


def version_of(match):
    numbers = [int(number) for number in match.groups()[1:4] if number is not None]
    pre = match[5].split(".") if match[5] else []
    if max(numbers) > MAX_NUMBER or any(re.fullmatch("0[0-9]+", each) for each in pre):
        return None
    return numbers, [(0, int(each), "") if each.isdigit() else (1, 0, each) for each in pre]


def requirement(text):
    matches = [WANTED.fullmatch(each) for each in re.split(", ?", text)]
    if len(text) > 256 or len(matches) > 8 or not all(matches):
        return None
    wanted = [(match[1], version_of(match)) for match in matches]
    return wanted if all(version for _, version in wanted) else None


def order(numbers, pre):
    return numbers + [0] * (3 - len(numbers)), not pre, pre


def meets(value, text):
    found = VERSION.search(value)
    version = found and version_of(found)
    wanted = requirement(text)
    return bool(version) and all(meets_one(order(*version), *each) for each in wanted) and (
        not version[1] or any(pre and order(given, [])[0] == order(*version)[0] for _, (given, pre) in wanted))


def meets_one(version, sign, wanted):
    (numbers, pre), least = wanted, order(*wanted)
    count = len(numbers)
    given = version[0][:count]
    if sign == "~":
        return given[:2] == numbers[:2] and (count < 3 or version >= least)
    if sign == "^":
        fixed = next((at for at, number in enumerate(numbers) if number), count - 1) + 1
        return given[:fixed] == numbers[:fixed] and (count < 2 or version >= least)
    here, there = (version, least) if count == 3 else (given, numbers)
    return ("=" in sign and given == numbers and (count < 3 or version[2] == pre)
            or "<" in sign and here < there or ">" in sign and here > there)


# Section 5.3: constant commands.
CONSTANT = ": true false echo printf exit return yes sleep seq expr basename dirname".split()
WRAPPERS = "env nice nohup command builtin exec eval time timeout setsid stdbuf busybox".split()
KEYWORDS = "!|if|then|elif|else|fi|while|until|do|done"
ASSIGNED = "[A-Za-z_][A-Za-z0-9_]*=.*"


def without_first(words, dropped):
    return list(itertools.dropwhile(re.compile(dropped, re.DOTALL).fullmatch, words))


def is_constant(words):
    name = words[0].rsplit("/", 1)[-1] if words else ""
    if (not words or words[0].startswith("#") or name in CONSTANT
            or name.lower() in ("todo", "tbd", "fixme", "xxx", "...")):
        return True
    match name:
        case "cat":
            return set(words[1:]) <= {"-", "/dev/null"}
        case "test" | "[" | "[[":
            return not [word for word in words[1:] if word[:1] == "-" and len(word) > 1
                        and word not in "-n -z -eq -ne -lt -le -gt -ge".split()]
        case "set":
            return len(words) > 1
        case "sh" | "bash" | "dash" | "zsh" | "ash" | "ksh":
            at = next((at for at, word in enumerate(words) if at and re.fullmatch("-[A-Za-z]*c[A-Za-z]*", word)), 0)
            signs = [word[:1] in ("-", "+") for word in words]
            return len(words) == 1 or 0 < at < len(words) - 1 and is_constant_script(words[at + 1]) and all(
                signs[i] or i > 1 and signs[i - 1] and words[i - 1].endswith("o") for i in range(1, at))
    if name in WRAPPERS:
        left = without_first(words[1:], rf"-.*|{ASSIGNED}|[0-9.]+[smhd]?")
        return bool(left) and is_constant(left)
    return False


def is_constant_script(script):
    parts = re.split("[;&|(){}\n\r]", re.sub("['\"\\\\]", "", script))
    return not set(script) & set("$`<>*?~") and all(
        is_constant(without_first(re.findall("[^ \t]+", part), f"{ASSIGNED}|{KEYWORDS}"))
        for part in parts)


# Section 5.4 and what anyone can tell of an expectation.
KIND = re.compile("exit=|json:|(?:value|stdout|stderr)~|value=|semver=")
NO_OUTPUT = {"sha256": hashlib.sha256(b"").hexdigest()}
UNFINISHED = ("not_found", "not_executable", "signaled", "timed_out", "interrupted", "failed")


def met_by_empty(probe):
    """Per expectation: does empty output meet it, or None if only the tool can tell."""
    for each in probe["expect"]:
        kind, empty = KIND.match(each)[0], NO_OUTPUT.get(probe["extract"], "")
        yield {"exit=": True, "json:": False, "value=": empty == each[6:],
               "semver=": kind == "semver=" and meets(empty, each[7:])}.get(kind)


def expected_exit(probe):
    return next((int(each[5:]) for each in probe["expect"] if each.startswith("exit=")), 0)


def met(receipt):
    value, open_value = receipt.get("value"), not receipt["probe"]["redact"]
    for each in receipt["probe"]["expect"]:
        if each.startswith("exit="):
            yield receipt["outcome"] == {"end": "exited", "exit": int(each[5:])}
        elif open_value and each.startswith("value="):
            yield value == each[6:]
        else:
            yield value is not None and meets(value, each[7:]) if (
                open_value and each.startswith("semver=")) else None


def finished(receipt):
    return receipt["outcome"]["end"] not in UNFINISHED


def successful(receipt):
    probe, value = receipt["probe"], receipt.get("value")
    check = probe.get("check", "").split("=")[0]
    wanted = {"tcp": "reachable", "http": "reachable", "schema": "valid"}.get(check, value)
    end = {"end": "checked"} if check else {"end": "exited", "exit": expected_exit(probe)}
    return (receipt["outcome"] == end and receipt["extracted"] and value == wanted
            and all(each["met"] for each in receipt["expectations"]))


def command_is_constant(probe):
    argv = probe.get("argv")
    return argv is not None and (is_constant_script(argv[0]) if probe["shell"] else is_constant(argv))


def shows(probe, expectations):
    """What a receipt of the probe shows: "value", "exit_only" or "nothing"."""
    told = any(each["met"] and not each["met_by_empty"] and not text.startswith("exit=")
               for text, each in zip(probe["expect"], expectations))
    if command_is_constant(probe):
        return "nothing"
    if told or not probe.get("check", "env-set=").startswith("env-set="):
        return "value"
    return "exit_only" if probe["exit_only"] else "nothing"


def contradictory(receipt):
    """Rule receipt_shape."""
    probe, end, extracted = receipt["probe"], receipt["outcome"]["end"], receipt["extracted"]
    of_others = ("checked", "failed") if "argv" in probe else (
        "exited", "signaled", "not_found", "not_executable")
    there, wanted = "value" in receipt or "redacted" in receipt, probe["extract"] != "none"
    return (end in of_others or extracted and (not finished(receipt) or there != wanted)
            or receipt["compared"] and "redacted" not in receipt
            or "check" in probe and "executable" in receipt
            or any(each["met"] and not finished(receipt) or can_met not in (None, each["met"])
                   or can_empty not in (None, each["met_by_empty"]) for each, can_met, can_empty
                   in zip(receipt["expectations"], met(receipt), met_by_empty(probe))))


def satisfies(value, axis):
    kind, _, given = axis.body["comparator"].partition("=")
    if value is None:
        return False
    if kind == "present":
        return value == "set" if axis.probe.get("check", "").startswith("env-set=") else bool(
            value.strip(" \t\n\v\f\r"))
    return (value == axis.receipt["value"] if kind == "exact" else
            value in given.split(",") if kind == "one-of" else meets(value, given))


# Sections 8 to 11.
NO_SESSION = {"ledger.opened", "ledger.upgraded", "key.authorized", "key.revoked", "session.opened",
              "session.abandoned", "capture.erased", "event.acknowledged"}
ADMIN = NO_SESSION - {"ledger.opened", "session.opened", "session.abandoned"}
NEVER_VOID = ADMIN - {"capture.erased"} | {"ledger.opened"}
CITED = {"axis.recorded": ["receipt"], "claim.verified": ["receipts", "needs"],
         "claim.promoted": ["flag", "receipt", "needs"], "claim.promotion_refused": ["flag", "receipt"],
         "probe.begun": ["flag"], "claim.discarded": ["flag"], "claim.retracted": ["receipt"]}
LISTS = {"ambient": "ambient.declared", "begun": "probe.begun", "discards": "claim.discarded",
         "flags": "claim.flagged", "gates": "action.gated", "receipts": "probe.receipt",
         "promotions_refused": "claim.promotion_refused", "retractions": "claim.retracted",
         "reverified": "boundary.reverified"}


class Ledger:
    def __init__(self):
        self.lawful, self.of, self.sessions = {}, defaultdict(list), {}
        self.keys, self.labels, self.root, self.revoked, self.void = {}, set(), None, {}, set()
        self.supports, self.flags, self.ids_of = defaultdict(list), defaultdict(list), defaultdict(set)
        self.refused, self.undetermined, self.acknowledged = [], False, -1

    def take(self, event):
        """Judge an event on the state before it; take it in, or refuse it."""
        if self.undetermined:
            return
        broken = next((rule for rule, is_broken in self.rules(event) if is_broken), None)
        if broken:
            self.refused.append((event.seq, broken))
            return
        body, session = event.body, self.sessions.get(event.session)
        self.lawful[event.seq] = event
        self.of[event.kind].append(event)
        if session:
            session.of[event.kind].append(event)
        match event.kind:
            case "ledger.opened":
                self.root, self.policy = event.key, body["policy"]
                self.keys[event.key], self.labels = {"admin", "recorder"}, {body["name"]}
                self.undetermined = body["rules"] > 1
            case "ledger.upgraded":
                self.undetermined = True  # rules and v were 1, and one of them is larger now
            case "key.authorized":
                self.keys[body["key"]] = set(body["roles"])
                self.labels.add(body["label"])
            case "key.revoked":
                self.revoked[body["key"]] = body
                self.void = set()
                for earlier in self.lawful.values():
                    self.void_if_so(earlier)
            case "session.opened":
                inherited = [self.sessions[each].lineage for each in body["inherits"]]
                self.sessions[event.seq] = SimpleNamespace(
                    opened=event, key=event.key, scope=body["scope"], end=None, of=defaultdict(list),
                    lineage={event.seq}.union(*inherited), seq=event.seq)
            case "session.sealed":
                session.end = event
            case "session.abandoned":
                self.sessions[body["session"]].end = event
            case "event.acknowledged":
                self.acknowledged = max(self.acknowledged, body["up_to"])
            case "axis.recorded":
                event.receipt = self.lawful[body["receipt"]].body
                event.probe = event.receipt["probe"]
            case "claim.verified" | "claim.promoted":
                flag = self.lawful[body["flag"]].body if "flag" in body else body
                event.receipts = body.get("receipts") or [body["receipt"]]
                event.statement = flag["statement"]
                self.supports[body["claim"]].append(event)
                self.ids_of[event.statement].add(body["claim"])
            case "claim.flagged":
                self.flags[body["claim"]].append(event)
                self.ids_of[body["statement"]].add(body["claim"])
        self.void_if_so(event)

    def void_if_so(self, event):
        cited = [event.body.get(name, []) for name in CITED.get(event.kind, [])]
        cited = {seq for each in cited for seq in (each if isinstance(each, list) else [each])}
        since = self.revoked.get(event.key, {}).get("compromised_since", ENDLESS)
        if event.kind not in NEVER_VOID and (since <= event.seq or cited & self.void):
            self.void.add(event.seq)

    # What the rules ask of a state.
    def get(self, kind, seq):
        event = self.lawful.get(seq)
        return event if event and event.kind == kind else None

    def open_flag(self, claim):
        flag = next((flag for flag in reversed(self.flags[claim]) if flag.seq not in self.void), None)
        closed = flag and any(each.body["claim"] == claim and each.body.get("flag") == flag.seq
                              and each.seq not in self.void for each in self.of["claim.discarded"])
        return None if closed else flag

    def is_open(self, flag):
        return self.open_flag(flag.body["claim"]) is flag

    def open_flags(self, claim, statement):
        """The open flags of an id and of a statement."""
        flags = [self.open_flag(claim)] + [flag for flag in map(self.open_flag, self.ids_of[statement])
                                           if flag and flag.body["statement"] == statement]
        return [flag for flag in flags if flag]

    def statement_of(self, claim):
        flag = self.open_flag(claim)
        told = [(each.seq, each.statement) for each in self.supports[claim] if each.seq not in self.void]
        told += [(flag.seq, flag.body["statement"])] if flag else []
        return min(told)[1] if told else None

    def retracted_at(self, claim):
        return max((each.seq for each in self.of["claim.retracted"] if claim in each.body["claims"]), default=-1)

    def latest(self, digest, session, up_to=ENDLESS):
        receipts = reversed(self.sessions[session].of["probe.receipt"])
        return next((each for each in receipts
                     if each.seq <= up_to and each.body["probe_digest"] == digest), None)

    def is_ambient(self, name, session):
        return any(entry["name"] == name for each in self.sessions[session].of["ambient.declared"]
                   if each.seq not in self.void for entry in each.body["entries"])

    def spoken_of(self):
        kinds = [kind for kind in KINDS if kind.startswith("claim.")]
        return {claim for kind in kinds for each in self.of[kind]
                for claim in each.body.get("claims") or [each.body["claim"]]}

    def resolve(self, name, session):
        """The axis of a name in a session, None if unknown, "ambiguous" if that is what it is."""
        newest = {axis.session: axis for axis in self.of["axis.recorded"] if axis.seq not in self.void
                  and axis.body["axis"] == name and axis.session in self.sessions[session].lineage}
        left = [axis for each, axis in newest.items() if not any(
            each in self.sessions[other].lineage for other in newest if other != each)]
        told = [(axis.receipt["probe_digest"], axis.body["comparator"], axis.receipt.get("value"),
                 axis.receipt.get("redacted", {}).get("commitment")) for axis in left]
        return "ambiguous" if len(set(told)) > 1 else max(left, key=lambda axis: axis.seq, default=None)

    # Section 9.
    def rules(self, e):
        """All rules that an event is judged by, in order, each with whether it breaks it."""
        b, kind, signer, session = e.body, e.kind, self.keys.get(e.key), self.sessions.get(e.session)
        if kind == "ledger.opened":
            yield "already_opened", self.root is not None or e.seq != 0
        else:
            yield "key_not_authorized", signer is None
            yield "key_revoked", e.key in self.revoked
            yield "kind_not_allowed", e.v != 1 or kind not in KINDS
            role = "admin" if kind in ADMIN or kind == "claim.discarded" and not e.session else "recorder"
            yield "role", role not in signer and kind != "session.abandoned"
        yield "session", kind != "claim.discarded" and (e.session == 0) != (kind in NO_SESSION)
        if e.session:
            yield "session_unknown", session is None
            yield "session_key", session.key != e.key
            yield "session_ended", session.end is not None and kind != "action.finished"
        match kind:
            case "ledger.upgraded":
                yield "root_only", e.key != self.root
                yield "upgrade_lowers", b["rules"] == b["v"] == 1
            case "key.authorized":
                yield "root_only", "admin" in b["roles"] and e.key != self.root
                yield "key_already_authorized", b["key"] in self.keys
                yield "key_weak", not key_is_sound(b["key"])
                yield "label_in_use", b["label"] in self.labels
            case "key.revoked":
                yield "key_unknown", b["key"] not in self.keys
                yield "root_irrevocable", b["key"] == self.root
                yield "root_only", "admin" in self.keys[b["key"]] and e.key != self.root
                since, before = b.get("compromised_since", -1), self.revoked.get(b["key"])
                yield "compromised_since", since > e.seq or (
                    e.key != self.root and before is not None
                    and not -1 < since < before.get("compromised_since", -1))
            case "session.opened":
                for each in b["inherits"]:
                    yield "session_unknown", each not in self.sessions
                for each in map(self.sessions.get, b["inherits"]):
                    yield "inherits_unsealed", not each.end or each.end.kind != "session.sealed"
            case "session.sealed":
                yield "ambient_undeclared", not session.of["ambient.declared"]
                did = [kind for kind, events in session.of.items() if events]
                yield "nothing_to_seal", not session.opened.body["inherits"] and did == ["ambient.declared"]
                yield "boundary", (b["boundary_digest"], b["counts"]) != self.boundary(session)
            case "session.abandoned":
                ended = self.sessions.get(b["session"])
                yield "session_unknown", ended is None
                yield "session_key", ended.key != e.key and "admin" not in signer
                yield "session_ended", ended.end is not None
            case "event.acknowledged":
                yield "root_only", e.key != self.root
                yield "acknowledges_ahead", b["up_to"] >= e.seq
            case "probe.begun":
                flag = self.get("claim.flagged", b["flag"])
                yield "dangling_reference", flag is None
                yield "flag_not_open", not self.is_open(flag)
                yield "flag_statement", b["claim"] != flag.body["claim"] and (
                    self.statement_of(b["claim"]) != flag.body["statement"])
                yield "probe_digest", b["probe_digest"] != flag.body["step_digest"]
            case "probe.receipt":
                digest = b["probe_digest"]
                yield "probe_digest", digest != probe_digest(b["probe"])
                yield "scope", b["scope"] != session.scope
                begun = self.get("probe.begun", b.get("begun"))
                yield "dangling_reference", "begun" in b and (
                    begun is None or begun.session != e.session or begun.body["probe_digest"] != digest)
                axes = [self.get("axis.recorded", each["axis"]) for each in b["compared"]]
                yield "dangling_reference", any(
                    axis is None or axis.receipt["probe_digest"] != digest for axis in axes)
                yield "receipt_shape", contradictory(b)
            case "axis.recorded":
                yield from self.evidence(e, b["receipt"])
                e.receipt = self.lawful[b["receipt"]].body
                e.probe = e.receipt["probe"]
                yield "vacuous", command_is_constant(e.probe)
                yield "redacted_comparator", e.probe["redact"] and b["comparator"] != "exact"
                yield "comparator", "redacted" not in e.receipt and not satisfies(e.receipt.get("value"), e)
            case "ambient.declared":
                needed = {self.lawful[seq].body["axis"] for each in self.supports_in(e.session)
                          for seq in each.body["needs"]}
                yield "ambient_load_bearing", any(entry["name"] in needed for entry in b["entries"])
            case "boundary.reverified":
                for entry in b["entries"]:
                    axis = self.get("axis.recorded", entry["axis"])
                    yield "dangling_reference", axis is None
                    yield "axis_not_in_lineage", axis.session not in session.lineage
                    receipt = self.get("probe.receipt", entry.get("receipt"))
                    yield "reverified_receipt", "receipt" in entry and (
                        receipt is None or receipt.session != e.session
                        or receipt.body["probe_digest"] != axis.receipt["probe_digest"])
            case "action.gated":
                allowed = set(b["claims"]) <= self.admissible(session, e.time)
                yield "gate_decision", (b["decision"] == "allowed") != allowed
            case "action.finished":
                gate = self.get("action.gated", b["gate"])
                yield "dangling_reference", gate is None or gate.session != e.session
                yield "gate_finished", gate.body["decision"] == "refused" or any(
                    each.body["gate"] == gate.seq for each in self.of["action.finished"])
            case "claim.verified":
                yield "statement_changed", self.statement_of(b["claim"]) not in (None, b["statement"])
                yield "open_flag", bool(self.open_flags(b["claim"], b["statement"]))
                for seq in b["receipts"]:
                    yield from self.evidence(e, seq)
                    yield "vacuous", command_is_constant(self.lawful[seq].body["probe"])
                yield "no_expectation", all(self.shown(seq) == "nothing" for seq in b["receipts"])
                yield from self.support(e, b["receipts"])
            case "claim.flagged":
                claim, statement, step = b["claim"], b["statement"], b["step"]
                yield "statement_changed", self.statement_of(claim) not in (None, statement)
                flags = self.open_flags(claim, statement)
                yield "open_flag", any(flag.session != e.session for flag in flags)
                yield "no_derivation", not b["derivation"].strip(" \t\n\v\f\r")
                yield "probe_digest", b["step_digest"] != probe_digest(step)
                yield "receipt_shape", any(can not in (None, told) for can, told
                                           in zip(met_by_empty(step), b["met_by_empty"]))
                promised = [{"met": True, "met_by_empty": each} for each in b["met_by_empty"]]
                yield "vacuous", shows(step, promised) == "nothing"
                yield "directive", b["directive"] != {"do_not_act_on": claim, "until_probe": b["step_digest"]}
                yield "needs_contradict", b["needs"] != [] and "independent" in b
                for need in b["needs"]:
                    axis = self.resolve(need["axis"], e.session)
                    yield "flag_needs", axis == "ambiguous"
                    wanted = (axis.receipt["probe_digest"], axis.body["comparator"]) if axis else (None, None)
                    yield "flag_needs", (need.get("probe_digest"), need.get("comparator")) != wanted
                admissible = self.admissible(session, e.time)
                yield "already_admissible", claim in admissible or any(
                    self.statement_of(each) == statement for each in admissible)
            case "claim.discarded" if b["why"] != "withdrawn":
                yield "session", e.session == 0
            case "claim.discarded":
                flag = self.get("claim.flagged", b["flag"])
                yield "dangling_reference", flag is None
                yield "flag_not_open", flag.body["claim"] != b["claim"] or not self.is_open(flag)
                yield "flag_statement", flag.body["statement"] != b["statement"]
                yield "flag_owner", e.session not in (0, flag.session)
            case "claim.promoted" | "claim.promotion_refused":
                flag = self.get("claim.flagged", b["flag"])
                yield "dangling_reference", flag is None
                yield "flag_not_open", not self.is_open(flag)
                yield "flag_statement", self.statement_of(b["claim"]) != flag.body["statement"]
                promoted = kind == "claim.promoted"
                yield from (self.evidence if promoted else self.own_receipt)(e, b["receipt"])
                receipt = self.lawful[b["receipt"]].body
                yield "probe_digest", receipt["probe_digest"] != flag.body["step_digest"]
                yield "receipt_before_flag", b["receipt"] <= flag.seq
                nothing = self.shown(b["receipt"]) == "nothing"
                if not promoted:
                    failed = not successful(receipt) or nothing
                    yield "promotion_refused_why", (b["why"] == "probe_failed") != failed
                    return
                yield "no_expectation", nothing
                yield "independence_not_flagged", "independent" in b and "independent" not in flag.body
                axes = [axis for axis in map(functools.partial(self.get, "axis.recorded"), b["needs"]) if axis]
                yield "flag_needs_missing", any(not any(
                    need["axis"] == axis.body["axis"] if "probe_digest" not in need else
                    (need["probe_digest"], need.get("comparator"))
                    == (axis.receipt["probe_digest"], axis.body["comparator"])
                    for axis in axes) for need in flag.body["needs"])
                yield "four_eyes", self.policy["four_eyes"] and any(
                    each.key == e.key for claim in self.ids_of[flag.body["statement"]]
                    for each in self.flags[claim])
                yield from self.support(e, [b["receipt"]])
            case "claim.retracted":
                for claim in b["claims"]:
                    yield "claim_unknown", claim not in self.spoken_of()
                if "receipt" in b:
                    yield from self.own_receipt(e, b["receipt"])

    def own_receipt(self, e, seq):
        receipt = self.get("probe.receipt", seq)
        yield "dangling_reference", receipt is None
        yield "receipt_session", receipt.session != e.session

    def evidence(self, e, seq):
        yield from self.own_receipt(e, seq)
        yield "void", seq in self.void
        yield "receipt_failed", not successful(self.lawful[seq].body)

    def shown(self, seq):
        return shows(self.lawful[seq].body["probe"], self.lawful[seq].body["expectations"])

    def supports_in(self, session):
        of = self.sessions[session].of
        return of["claim.verified"] + of["claim.promoted"]

    def support(self, e, receipts):
        b, session = e.body, self.sessions[e.session]
        yield "needs_missing", not b["needs"] and "independent" not in b
        yield "needs_contradict", b["needs"] != [] and "independent" in b
        for seq in receipts:
            yield from self.own_receipt(e, seq)
            digest = self.lawful[seq].body["probe_digest"]
            yield "receipt_not_latest", self.latest(digest, e.session).seq > seq
            yield "receipt_before_retraction", self.retracted_at(b["claim"]) > seq
        for seq in b["needs"]:
            axis = self.get("axis.recorded", seq)
            yield "dangling_reference", axis is None
            yield "axis_not_in_lineage", axis.session not in session.lineage
            yield "void", seq in self.void
            yield "axis_ambient", any(
                self.is_ambient(axis.body["axis"], each) for each in (e.session, axis.session))
            seen = [(self.latest(axis.receipt["probe_digest"], e.session, up_to), self.verdict(
                axis, e.session, e.time, up_to)[0]) for up_to in (min(receipts), ENDLESS)]
            yield "not_bracketed", not all(
                receipt and verdict == "held" for receipt, verdict in seen) or seen[1][0].seq < max(receipts)
        for claim in b["from"]:
            yield "from_not_admissible", claim not in self.admissible(session, e.time)

    # Section 10.
    def verdict(self, axis, session, moment, up_to=ENDLESS, void=None):
        """The verdict on an axis in a session, and the reason."""
        void = self.void if void is None else void
        of, policy = self.sessions[session].of, self.policy
        receipt = self.latest(axis.receipt["probe_digest"], session, up_to)
        drifted = "drifted_ambient" if self.is_ambient(axis.body["axis"], axis.session) else "drifted_load_bearing"
        entry, said = {}, receipt
        if receipt is None:
            entries = [(each, entry) for each in of["boundary.reverified"] for entry in each.body["entries"]
                       if each.seq <= up_to and each.seq not in void and entry["axis"] == axis.seq]
            said, entry = entries[-1] if entries else (None, {"receipt": None})
            if "asserted" not in entry:
                return "unverifiable", entry.get("unverifiable", "not_probed")
            if not policy["asserted_values"] or "redacted" in axis.receipt:
                return "unverifiable", "asserted_only"
        elif receipt.seq in void:
            return "unverifiable", "void"
        if said.time > moment + 300_000:
            return "unverifiable", "future"
        if said.time < moment - axis.body.get("max_age_ms", 43_200_000):
            return "unverifiable", "stale"
        if receipt is None:
            return ("held", None) if satisfies(entry["asserted"], axis) else (drifted, "changed")
        body, outcome, probe = receipt.body, receipt.body["outcome"], axis.probe
        compared = {each["axis"]: each["result"] for each in body["compared"]}.get(axis.seq)
        if not finished(body):
            return "unverifiable", outcome["end"]
        if not body["extracted"]:
            return "unverifiable", "unparsable"
        if probe.get("check", "").startswith(("tcp=", "http=")) and body["value"] != "reachable":
            return drifted, "unreachable"
        if outcome["end"] == "exited" and outcome["exit"] != expected_exit(probe):
            return "unverifiable", "unexpected_exit"
        if not successful(body):
            return drifted, "expectation_unmet"
        if probe["redact"]:
            same = compared or ("same" if receipt.seq == axis.body["receipt"] and "redacted" in body else None)
            if same is None:
                return "unverifiable", "salt_missing"
            return ("held", None) if same == "same" else (drifted, "changed")
        return ("held", None) if satisfies(body.get("value"), axis) else (drifted, "changed")

    def admissible(self, session, moment):
        """The claims that a session may act on."""
        if self.undetermined or session.key in self.revoked:
            return set()
        left = [each for supports in self.supports.values() for each in supports
                if each.session in session.lineage and not self.has_obstacle(each, session, moment)]
        found, before = set(), None
        while found != before:
            before = set(found)
            found |= {each.body["claim"] for each in left if found.issuperset(each.body["from"])}
        return found

    def has_obstacle(self, support, session, moment):
        axes = [self.lawful[seq] for seq in support.body["needs"]]
        reverified = any(each.seq not in self.void for each in session.of["boundary.reverified"])
        return (support.seq in self.void or support.seq < self.retracted_at(support.body["claim"])
                or support.session != session.seq and not reverified
                or any(self.verdict(axis, session.seq, moment)[0] != "held" for axis in axes)
                or any(self.refutes(support, axes, seq, each)
                       for each in session.lineage for seq in support.receipts))

    def refutes(self, support, axes, seq, session):
        """Is the latest run of a receipt's probe in a session counter-evidence?"""
        run = self.latest(self.lawful[seq].body["probe_digest"], session)
        return (run is not None and run.seq > support.seq and finished(run.body) and not successful(run.body)
                and all(self.verdict(axis, session, run.time, run.seq, ())[0] == "held" for axis in axes))

    def state_of(self, claim, session):
        supports, flags, retracted = self.supports[claim], self.flags[claim], self.retracted_at(claim)
        said = [each for each in supports + flags if each.session in session.lineage]
        flag, discards = self.open_flag(claim), self.of["claim.discarded"]
        states = {
            "verified_invariant": any(each.seq not in self.void and each.seq > retracted and each in supports
                                      for each in said),
            "provisional_unverified": flag is not None and flag.session in session.lineage,
            "retracted": retracted >= 0 and said != [],
            "void": any(each.seq in self.void for each in said),
            "discarded": any(each in flags for each in said) or any(
                each.body["claim"] == claim and each.session in session.lineage | {0} for each in discards),
            "unsealed": any(not self.sessions[each.session].end or self.sessions[each.session].end.kind
                            != "session.sealed" for each in supports + flags)}
        return next((state for state, so in states.items() if so), "unknown")

    def report(self, session, event):
        axes = [axis for axis in self.of["axis.recorded"] if axis.session in session.lineage]
        verdicts = [(axis, *self.verdict(axis, session.seq, event.time)) for axis in axes]
        return {"session": session.seq, "at": event.seq, "axes": [
            {"axis": axis.body["axis"], "seq": axis.seq, "verdict": verdict, "reason": reason}
            for axis, verdict, reason in verdicts],
            "admissible": sorted(self.admissible(session, event.time)),
            "claims": [{"claim": claim, "state": self.state_of(claim, session)}
                       for claim in sorted(self.spoken_of())]}

    # Section 11.
    def boundary(self, session):
        """The digest and the counts of a session's boundary record."""
        def support(event):
            told = {name: event.body[name] for name in ("claim", "from", "independent", "needs", "flag")
                    if name in event.body}
            return told | {"receipts": event.receipts, "seq": event.seq, "statement": event.statement}
        lists = {name: [{"body": each.body, "seq": each.seq} for each in session.of[kind]]
                 for name, kind in LISTS.items()}
        lists["claims"] = [support(each) for each in session.of["claim.verified"]]
        lists["promotions"] = [support(each) for each in session.of["claim.promoted"]]
        lists["axes"] = [
            {"body": axis.body, "seq": axis.seq, "load_bearing_for": sorted(
                {each.body["claim"] for each in self.supports_in(session.seq) if axis.seq in each.body["needs"]})}
            | {name: axis.receipt[name] for name in ("probe_digest", "redacted", "value") if name in axis.receipt}
            for axis in session.of["axis.recorded"]]
        opened = {"opened": {"body": session.opened.body, "seq": session.seq}}
        return (sha256(b"handoff-ledger/boundary/v1\n", canonical(lists | opened)),
                {name: len(lists[name]) for name in RECORDS["counts"]})


def probe_digest(probe):
    return sha256(b"handoff-ledger/probe/v1\n", canonical(probe))


# Sections 13 and 14: files.
def read_base64(text):
    data = base64.b64decode(text, validate=True)
    if base64.b64encode(data) != text:
        raise ValueError("base64 of another spelling")
    return data


HEADER = re.compile(rb'\{"count":([1-9][0-9]{0,15}),"format":"handoff-ledger-export/v1",'
                    rb'"head":"(handoff1:[0-9a-f]{12}:(?:0|[1-9][0-9]{0,15}):[0-9a-f]{64})",'
                    rb'"ledger":"([0-9a-f]{64})"\}')
CAPTURE = re.compile(rb'\{"capture":"([0-9a-f]{64})",(?:"bytes":"([A-Za-z0-9+/=]*)",)?'
                     rb'"salt":"([0-9a-f]{32})"\}')


def head_line(leaves):
    return f"handoff1:{leaves[0][:12]}:{len(leaves) - 1}:{leaves[-1]}" if leaves else None


def read_export(data):
    """Records, captures and faults of an export."""
    header, *lines = data.split(b"\n")
    faults = [] if lines and lines.pop() == b"" else ["export_line"]
    told = HEADER.fullmatch(header)
    if told is None:
        raise NotALedger("no header of an export")
    records, captures = [], {}
    for line in lines:
        capture = CAPTURE.fullmatch(line)
        try:
            if len(line) > 87_640:
                raise ValueError("too long")
            if capture and list(captures) < [capture[1].decode()]:
                pass
            if capture:
                kept = None if capture[2] is None else read_base64(capture[2])
                captures[capture[1].decode()] = (bytes.fromhex(capture[3].decode()), kept)
            elif line[:9] == b'{"event":' and line[-98:-90] == b',"sig":"' and line[-2:] == b'"}' and len(line) >= 107:
                records.append((len(records), read_base64(line[-90:-2]) + line[9:-98]))
            else:
                raise ValueError
        except ValueError:
            faults.append("export_line")
            break
    leaves = [sha256(b"\0", record) for _, record in records]
    if (int(told[1]), told[2].decode(), told[3].decode()) != (len(leaves), head_line(leaves), (leaves or [""])[0]):
        faults.append("export_header")
    return records, captures, faults


SCHEMA = ""


class NotALedger(Exception):
    """The input cannot be read, or is no ledger."""


def read_sqlite(data):
    """Records, captures and faults of a ledger file, of which these are all the bytes."""
    def number(at, size):
        return int.from_bytes(data[at:at + size], "big")
    if len(data) < 100 or data[:16] != b"SQLite format 3\0" or number(68, 4) != 0x686E6466:
        raise NotALedger("no SQLite file of this application")
    if number(60, 4) > 1:
        raise NotALedger("newer than this text")
    page = number(16, 2) if number(16, 2) != 1 else 65_536
    if (page & (page - 1) or page < 512 or data[18:20] != b"\1\1" or number(28, 4) * page != len(data)
            or number(56, 4) != 1 or number(60, 4) != 1):
        return [], {}, ["storage"]
    records, captures, faults = [], {}, []
    database = sqlite3.connect(":memory:")
    try:
        database.deserialize(data)
        schema = database.execute("SELECT sql FROM sqlite_schema ORDER BY rowid").fetchall()
        if SCHEMA and sha256(*[sql.encode() for sql, in schema]) != SCHEMA:
            return [], {}, ["schema"]
        for seq, record in database.execute("SELECT seq, record FROM event ORDER BY seq"):
            if not isinstance(record, bytes):
                faults.append("storage")
                break
            records.append((seq, record))
            if seq != len(records) - 1:
                break
        for commitment, salt, kept in database.execute("SELECT commitment, salt, bytes FROM capture"):
            captures[commitment.hex()] = (salt, kept)
    except (sqlite3.Error, UnicodeError, OverflowError, AttributeError, TypeError):
        faults.append("storage")
    finally:
        database.close()
    return records, captures, faults


def capture_faults(events, captures):
    for event in events:
        if event.kind != "probe.receipt" or event.v != 1:
            continue
        streams = [stream["kept"] for stream in event.body.get("outputs", {}).values()]
        for kept in streams:
            salt, there = captures.get(kept["commitment"], (None, None))
            if there is not None and (sha256(salt, there) != kept["commitment"] or len(there) != kept["length"]):
                yield event.seq, "capture"
        redacted = event.body.get("redacted")
        if redacted and redacted["commitment"] in captures:
            salt, there = captures[redacted["commitment"]]
            if sha256(salt) != redacted["salt_digest"] or (
                    there is not None and sha256(salt, there) != redacted["commitment"]):
                yield event.seq, "capture"


def tree_root(leaves):
    """The Merkle tree hash of RFC 6962 section 2.1."""
    if len(leaves) == 1:
        return leaves[0]
    left = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256(b"\1" + tree_root(leaves[:left]) + tree_root(leaves[left:])).digest()


def verify(request):
    """Section 12."""
    answer = {"result": "error", "events": 0, "head": None, "faults": [], "refused": [], "voided": [],
              "checkpoint": None, "error": None, "sessions": []}
    try:
        path = Path(request["path"])
        data = path.read_bytes()
        is_sqlite = request.get("kind", "sqlite" if data[:6] == b"SQLite" else "export") == "sqlite"
        records, captures, container = (read_sqlite if is_sqlite else read_export)(data)
    except (OSError, NotALedger, KeyError, TypeError, ValueError) as error:
        return answer | {"error": str(error) or "cannot be read"}
    beside = is_sqlite and any(path.with_name(path.name + end).exists() for end in ("-journal", "-wal", "-shm"))
    known = {int(seq): leaf for seq, leaf in (request.get("known") or {}).items()}
    events, leaves, faults = walk(records, known)
    leaves = leaves[:len(events)]
    if request.get("expect"):
        _, ledger, seq, leaf = request["expect"].split(":")
        if not leaves or leaves[0][:12] != ledger or leaves[int(seq):int(seq) + 1] != [leaf]:
            faults.append((int(seq), "expect"))
    faults += [*capture_faults(events, captures), *[(None, fault) for fault in container]]
    ledger, at, reports = Ledger(), request.get("at"), []
    for event in events:
        ledger.take(event)
        for session in ledger.sessions.values():
            if event.seq == at if at is not None else session.end is event:
                reports.append(ledger.report(session, event))
    if at is None:
        reports += [ledger.report(each, events[-1]) for each in ledger.sessions.values() if not each.end]
    answer |= {"events": len(events), "refused": [{"seq": seq, "rule": rule} for seq, rule in ledger.refused],
               "faults": [{"seq": seq, "kind": kind} for seq, kind in faults], "voided": sorted(ledger.void),
               "sessions": sorted(reports, key=lambda report: report["session"])}
    if leaves:
        tree = base64.b64encode(tree_root([bytes.fromhex(leaf) for leaf in leaves])).decode()
        answer |= {"head": {"seq": len(leaves) - 1, "hash": leaves[-1]},
                   "checkpoint": f"handoff-ledger/{leaves[0]}\n{len(leaves)}\n{tree}\n"}
    results = {"tampered": faults, "unlawful": any(seq > ledger.acknowledged for seq, _ in ledger.refused),
               "undetermined": ledger.undetermined, "incomplete": beside, "empty": not events,
               "self_consistent": not events or events[0].key != request.get("root")}
    return answer | {"result": next((result for result, so in results.items() if so), "verified")}


def main():
    sys.setrecursionlimit(5000)
    parser = argparse.ArgumentParser(description="A second verifier of handoff ledgers.")
    parser.add_argument("file", nargs="?")
    parser.add_argument("--trust")
    parser.add_argument("--expect")
    parser.add_argument("--at", type=int)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--serve", action="store_true")
    given = parser.parse_args()
    if given.serve:
        for line in sys.stdin:
            print(json.dumps(verify(json.loads(line))), flush=True)
        return 0
    answer = verify({"path": given.file, "root": given.trust, "expect": given.expect, "at": given.at})
    print(json.dumps(answer, indent=None if given.json else 1))
    return {"verified": 0, "tampered": 4, "unlawful": 4, "error": 5}.get(answer["result"], 3)


if __name__ == "__main__":
    sys.exit(main())
