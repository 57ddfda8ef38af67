"""Sections 3 to 6 of ledger-format.md: what an event is, and what it says by itself. Types, shapes
and kinds are read out of the text itself: where that is wrong, so is this program."""
import json
import re
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import sha256 as hash_of
from ipaddress import IPv6Address
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

TEXT = Path(__file__).resolve().parents[2].joinpath("ledger-format.md").read_text()

def fenced(language):
    return "".join(re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL))

def words(text):
    return re.findall("`(.+?)`", text)

def rows(head):
    """The cells of the table of the text that begins so."""
    lines = TEXT.partition(f"\n| {head} |")[2].partition("\n\n")[0].split("\n")[2:]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]

TYPES = dict(re.findall("(.+?) +(.+)", fenced("types")))
SHAPES = {words(of)[0]: dict(re.findall(r"`(\w+)` ([^,]+)", members))
          for of, members, _ in rows("shape | members")}
KINDS = {kind: (session.split(", or "), role.split(", or "), signer)
         for kinds, session, role, signer in rows("kind | session | role") for kind in words(kinds)}
LISTS = {kind: name for names, of in rows("member | value")
         for name, kind in zip(words(names), words(of.partition(":")[0]))}
MEMBER = re.compile(r"(opt\. )?(?:(array|set) of )?(.+?)(?: (\d+) (?:to (\d+)|or more))?")

class Object(dict):
    """A JSON object, its members as attributes; one that is not there is None."""
    __getattr__, __setattr__ = dict.get, dict.__setitem__

@lru_cache(None)
def grammar(of):
    """The range of an integer type, or the pattern of a text type."""
    spec = TYPES.get(of) or "|".join(words(of)) or of
    if span := re.fullmatch(r"(\d+) to (\d+)", spec):
        return range(int(span[1]), int(span[2]) + 1)
    for name in re.findall("(?<!P)<([a-z]+)>", spec):
        inner = grammar(name)
        inner = f"(?P<{name}>0|[1-9][0-9]*)" if isinstance(inner, range) else (
            f"(?:{inner.pattern.decode()})")
        spec = spec.replace(f"<{name}>", inner)
    return re.compile(spec.encode(), re.DOTALL)

def fits(value, of):
    """Is a value of a type? A ValueError of LOOKS says no, too."""
    optional, many, of, least, most = MEMBER.fullmatch(of).groups()
    if value is None or many and not isinstance(value, list):
        return value is None and bool(optional)
    if many:
        keys = [each.axis or each.name or 0 if isinstance(each, dict) else each for each in value]
        return int(least or 0) <= len(value) <= int(most or 2**53) and all(
            fits(each, of) for each in value) and (many == "array" or keys == sorted(set(keys)))
    if of in SHAPES:
        return isinstance(value, Object) and value.keys() <= SHAPES[of].keys() and all(
            fits(value.get(name), said) for name, said in SHAPES[of].items()) and (
            of not in ASIDE or bool(ASIDE[of](value)))
    if of in ("boolean", "object"):
        return isinstance(value, bool if of == "boolean" else Object)
    spec = grammar(of)
    if isinstance(spec, range) or not isinstance(value, str):
        return isinstance(spec, range) and type(value) is int and value in spec
    match = spec.fullmatch(value.encode())
    return match is not None and all(
        LOOKS[name](text.decode()) is not None if name in LOOKS else int(text) in grammar(name)
        for name, text in match.groupdict().items() if text is not None)

def time_of(text):
    """Milliseconds. Python has no year 0; it is as the year 400, 146,097 days before."""
    year, days = ("0400", 146_097) if text[:4] == "0000" else (text[:4], 0)
    since = datetime.fromisoformat(year + text[4:-1]) - datetime(1, 1, 1) - timedelta(days)
    return since // timedelta(milliseconds=1)

def expected(probe):
    return [re.match("(?s)([a-z]+.)(.*)", each).groups() for each in probe.expect]

def probe_fits(it):
    kinds = [kind for kind, _ in expected(it)]
    of_value = {*kinds} & {"value=", "value~", "semver="}
    is_sound = kinds.count("exit=") < 2 and not (it.extract == "none" and of_value)
    if it.check is None:
        return is_sound and it.argv and it.argv[0] and not (it.shell and len(it.argv) > 1)
    is_remote = it.check.startswith(("tcp=", "http=", "schema="))
    return is_sound and it.argv is None and it.extract == "trim" and {*kinds} == of_value and not (
        it.shell or it.exit_only or it.env or it.redact and is_remote)

def receipt_fits(it):
    started = it.probe.check is None and it.outcome.end not in ("not_found", "not_executable")
    shown, hidden = (it.redacted, it.value) if it.probe.redact else (it.value, it.redacted)
    return len(it.expectations) == len(it.probe.expect) and hidden is None and (
        shown is None or it.extracted) and started == (it.outputs is not None)

# What sections 5.1 and 6 ask beyond the types of members, and what is named in a type.
ASIDE = {
    "probe": probe_fits, "probe.receipt": receipt_fits,
    "outcome": lambda it: [it.end == "exited", it.end == "signaled"] == [
        it.exit is not None, it.signal is not None],
    "entry": lambda it: [it.asserted, it.receipt, it.unverifiable].count(None) == 2,
    "claim.flagged": lambda it: len(it.met_by_empty) == len(it.step.expect),
    "claim.discarded": lambda it: {it.flag is None, it.reason is None} == {it.why != "withdrawn"}}
LOOKS = {"time": time_of, "ipv6": IPv6Address, "requirement": lambda text: meets("", text)}

# Section 3: canonical form. A member twice is as good as a fraction, which no type has.
def read_members(pairs):
    return Object(pairs) if len(dict(pairs)) == len(pairs) else 0.5

READER = json.JSONDecoder(object_pairs_hook=read_members)
WRITER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))

def depth(value):
    """How deep arrays and objects nest; 99 of what is no value."""
    if isinstance(value, dict) and all(re.fullmatch("[a-z0-9_]+", name) for name in value):
        value = [*value.values()]
    if isinstance(value, list):
        return 1 + max(map(depth, value), default=0)
    return 0 if isinstance(value, str) or isinstance(value, int) and abs(value) < 2**53 else 99

def read_event(data):
    """The event in these bytes, or none, and the fault that they have, or none."""
    try:
        it = READER.decode(data.decode())
        is_known, is_deep = it.v == 1 and it.kind in KINDS, depth(it) > 33  # as a null is
        if not fits(it, "envelope") or not (fits(it.body, it.kind) if is_known else not is_deep):
            return None, "malformed"
        is_same = WRITER.encode(it).encode() == data and not is_deep
        body = it.body if is_known else Object()
        own = {"signer": it.key, "key": body.key, "time": time_of(it.time)}
        return Object(body | it | own), None if is_same else "not_canonical"
    except (ValueError, RecursionError, AttributeError, TypeError):
        return None, "malformed"

# Section 4.
def sha256(*parts):
    return hash_of(b"".join(parts)).hexdigest()

def digest(label, value):
    return sha256(f"handoff-ledger/{label}/v1\n".encode(), WRITER.encode(value).encode())

P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P

def add(a, b):
    (x, y), (u, v) = a, b
    k = D * x * y * u * v
    return (x * v + y * u) * pow(1 + k, -1, P) % P, (y * v + x * u) * pow(1 - k, -1, P) % P

def times(n, a):
    double = add(*[times(n // 2, a)] * 2) if n else (0, 1)
    return add(double, a) if n % 2 else double

@lru_cache(4096)
def public_key(key):
    """The key of that encoding, or none if it breaks one of rules 1 to 4 (RFC 8032 section 5.1.3).
    The sign of x is left aside: -A is as good as A, and where x is 0, the order is small."""
    y = int.from_bytes(bytes.fromhex(key), "little") % 2**255
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if x * x % P == square else x * pow(2, (P - 1) // 4, P) % P
    is_sound = 1 != y < P and x * x % P == square and times(L, (x, y)) == (0, 1)
    return Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)) if is_sound else None

@lru_cache(4096)
def signature_is_valid(key, signature, data):
    """Rules 5 to 8. OpenSSL encodes [S]B - [k]A and compares that with R; as A has no torsion, the
    encoding is canonical, and that of the identity if its order is small."""
    message = b"DSSEv1 44 application/vnd.handoff-ledger.event.v1+json %d %b" % (len(data), data)
    try:
        public_key(key).verify(signature, message)
    except InvalidSignature:
        return False
    return int.from_bytes(signature[32:], "little") < L and signature[:32] != b"\1" + bytes(31)

# Section 5.2. A version is the numbers given, and what it is compared by.
def version_of(match):
    *numbers, pre = match.groups()[-4:] if match else (b"9" * 20, None)
    given, pre = [int(each) for each in numbers if each], pre.split(b".") if pre else []
    if max(given) >= 2**64 or any(re.fullmatch(b"0[0-9]+", each) for each in pre):
        return None
    pre = [(0, int(each), b"") if each.isdigit() else (1, 0, each) for each in pre]
    return given, ((given + [0, 0])[:3], not pre, pre)

def meets(value, text):
    """Does the version in a value meet a requirement? A ValueError if it is none."""
    matches = [grammar("comparison").fullmatch(each) for each in re.split(b", ?", text.encode())]
    here, *wanted = map(version_of, [grammar("version").search(value.encode()), *matches])
    if len(text) > 256 or len(matches) > 8 or not all(wanted):
        raise ValueError("no requirement")
    return here is not None and all(meets_one(here[1], each[1].decode(), *least)
                                    for each, least in zip(matches, wanted)) and (
        here[1][1] or (here[1][0], False) in [least[:2] for _, least in wanted])

def meets_one(version, sign, given, least):
    mine, is_whole = version[0][:len(given)], len(given) == 3
    here, there = (version, least) if is_whole else (mine, given)
    if sign in "~^":
        same = 2 if sign == "~" else [*map(bool, given), True].index(True) + 1
        return mine[:same] == given[:same] and here >= there and (
            is_whole or sign == "^" or version[1])
    is_equal = "=" in sign and mine == given and version[2] == least[2]
    return is_equal or ">" in sign and here > there or "<" in sign and here < there

# Section 5.3.
def is_constant(words):
    match = grammar("constant").fullmatch(words)
    return match is not None and (match["script"] is None or is_constant_script(match["script"]))

def is_constant_script(script):
    parts = re.split(rb"[;&|(){}\n\r]", re.sub(rb"['\"\\]", b"", script))
    lists = [re.sub(rb"[ \t\0]+", b"\0", each + b"\0").lstrip(b"\0") for each in parts]
    leading = re.compile(b"(?:%b)*+" % grammar("leading").pattern, re.DOTALL)
    return not re.search(rb"[$`<>*?~]", script) and all(
        is_constant(leading.sub(b"", each, 1)) for each in lists)

# Sections 5.1 and 5.4.
def misjudges(it, member, receipt=None):
    """Is an expectation met, by a receipt or by empty output, otherwise than anyone can tell?"""
    value = receipt.value if receipt else sha256() if it.probe.extract == "sha256" else ""
    for (kind, given), said in zip(expected(it.probe), it.expectations):
        met = said[member]
        if kind == "exit=":
            met = not receipt or receipt.outcome == {"end": "exited", "exit": int(given)}
        elif kind in ("value=", "semver=") and not (receipt and it.probe.redact):
            met = value is not None and (value == given if kind[0] == "v" else meets(value, given))
        elif kind == "json:" and not receipt:
            met = False
        if met != said[member]:
            return True
    return False

def weigh(it):
    """A receipt, with what it is worth."""
    probe, end, check, all_met = it.probe, it.outcome.end, it.probe.check or "", all(
        each.met for each in it.expectations)
    script = "".join(each if probe.shell else f"{each}\0" for each in probe.argv or []).encode()
    it.is_constant = not check and (is_constant_script if probe.shell else is_constant)(script)
    it.finished, exits = end in ("exited", "checked"), dict(expected(probe))
    it.expected_exit = int(exits.get("exit=", 0))
    needed = {"tcp": "reachable", "http": "reachable", "schema": "valid"}.get(check.split("=")[0])
    it.successful = it.extracted and needed in (None, it.value) and all_met and it.outcome == (
        {"end": "checked"} if check else {"end": "exited", "exit": it.expected_exit})
    it.shows = not it.is_constant and (probe.exit_only or check[:8] not in ("", "env-set=") or any(
        kind != "exit=" and said.met and not said.met_by_empty
        for (kind, _), said in zip(expected(probe), it.expectations)))
    is_empty = it.value is None and it.redacted is None
    it.contradicts = (
        end in ("exited signaled not_found not_executable" if check else "checked failed").split()
        or it.extracted and not (it.finished and (probe.extract == "none") == is_empty)
        or it.compared != [] and it.redacted is None or check and it.executable is not None
        or misjudges(it, "met_by_empty") or misjudges(it, "met", it)
        or not it.finished and any(each.met for each in it.expectations))
    return it

def satisfies(value, comparator, receipt):
    """Does a value, or none, satisfy the comparator of an axis with that receipt?"""
    kind, _, given = comparator.partition("=")
    if value is None or kind == "semver":
        return value is not None and meets(value, given)
    if kind == "present":
        return value == "set" if (receipt.probe.check or "").startswith("env-set=") else (
            value.strip(" \t\n\v\f\r") != "")
    return value in (given.split(",") if given else [receipt.value])
