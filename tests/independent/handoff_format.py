"""Sections 3 to 6 of ledger-format.md: what an event is, and what it says by itself. Types, shapes,
kinds and constant commands are read out of the text: where that is wrong, so is this program."""
import re
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import sha256 as hash_of
from ipaddress import IPv6Address
from itertools import dropwhile
from json import JSONDecoder, JSONEncoder
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

TEXT = Path(__file__).resolve().parents[2].joinpath("ledger-format.md").read_text()

def part(begin, end):
    return TEXT.partition(begin)[2].partition(end)[0]

def words(text):
    return re.findall("`(.+?)`", text)

def rows(head):
    """The cells of the table of the text that begins so."""
    lines = part(f"\n| {head} |", "\n\n").split("\n")[2:]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]

TYPES = dict(line.split(None, 1) for line in part("```types\n", "\n```").split("\n"))
SHAPES = {words(of)[0]: dict(re.findall(r"`(\w+)` ([^,]+)", members))
          for of, members, _ in rows("shape | members")}
KINDS = {kind: (session.split(", or "), role.split(", or "))
         for kinds, session, role, _ in rows("kind | session | role") for kind in words(kinds)}
LISTS = {kind: name for names, of in rows("member | value")
         for name, kind in zip(words(names), words(of.partition(":")[0]))}
CONSTANT = [[{*words(each)} for each in re.split(": (?=[cd])", item)] for item in re.split(
    r"\n\d\. ", part("### 5.3 ", "\n\nAn assignment"))]
TYPE = re.compile(r"(opt\. )?(?:(array|set) of )?(.+?)(?: (\d+) (?:to (\d+)|or more))?")

class Object(dict):
    """A JSON object, its members as attributes; one that is not there is None."""
    __getattr__, __setattr__ = dict.get, dict.__setitem__

@lru_cache(None)
def pattern(of):
    """The range of an integer type, or the pattern of a text type."""
    spec = TYPES.get(of) or "|".join(words(of)) or of
    if span := re.fullmatch(r"(\d+) to (\d+)", spec):
        return range(int(span[1]), int(span[2]) + 1)
    for name in re.findall("(?<!P)<([a-z]+)>", spec):
        of = pattern(name)
        spec = spec.replace(f"<{name}>", f"(?P<{name}>0|[1-9][0-9]*)" if isinstance(of, range)
                            else f"(?:{of.pattern.decode()})")
    return re.compile(spec.encode(), re.DOTALL)

def fits(value, of):
    """Is a value of a type? A ValueError of LOOKS says no, too."""
    optional, many, of, least, most = TYPE.fullmatch(of).groups()
    if value is None:
        return bool(optional)
    if many:
        return (isinstance(value, list) and int(least or 0) <= len(value) <= int(most or 2**53)
                and all(fits(each, of) for each in value) and (many == "array" or ascends(value)))
    if of in SHAPES:
        return isinstance(value, dict) and value.keys() <= SHAPES[of].keys() and all(
            fits(value.get(name), said) for name, said in SHAPES[of].items()) and not (
            of in REJECT and REJECT[of](value))
    if of in ("boolean", "object"):
        return isinstance(value, bool if of == "boolean" else dict)
    if isinstance(pattern(of), range):
        return type(value) is int and value in pattern(of)
    match = pattern(of).fullmatch(value.encode()) if isinstance(value, str) else None
    return match is not None and all(
        LOOKS[name](text.decode()) is not None if name in LOOKS else int(text) in pattern(name)
        for name, text in match.groupdict().items() if text is not None)

def ascends(values):
    keys = [each.axis or each.name or 0 if isinstance(each, dict) else each for each in values]
    return keys == sorted(set(keys))

@lru_cache(1)
def time_of(text):
    """Milliseconds. Python has no year 0; the calendar is the same 400 years later."""
    year, *rest, milliseconds = map(int, re.findall("[0-9]+", text))
    since = datetime(2000 + year % 400, *rest) - datetime(2000, 1, 1)
    return (since + timedelta(year // 400 * 146_097)) // timedelta(milliseconds=1) + milliseconds

def probe_is_rejected(it):
    argv, kinds = it.argv or [], [re.match("[a-z]+.", each)[0] for each in it.expect]
    valued = {"value=", "value~", "semver="}.intersection(kinds)
    return ((it.argv is None) == (it.check is None) or argv[:1] == [""]
            or it.shell and len(argv) != 1 or kinds.count("exit=") > 1
            or it.extract == "none" and valued or it.check is not None and (
                it.exit_only or it.env or it.extract != "trim" or {*kinds} != valued
                or it.redact and it.check.startswith(("tcp=", "http=", "schema="))))

def receipt_is_rejected(it):
    started = it.probe.check is None and it.outcome.end not in ("not_found", "not_executable")
    return (len(it.expectations) != len(it.probe.expect) or (it.outputs is None) == started
            or it.redacted is not None and not (it.extracted and it.probe.redact)
            or it.value is not None and (not it.extracted or it.probe.redact))

REJECT = {  # what sections 5.1 and 6 reject beyond the types of members
    "probe": probe_is_rejected, "probe.receipt": receipt_is_rejected,
    "outcome": lambda it: [it.end == "exited", it.end == "signaled"] != [
        it.exit is not None, it.signal is not None],
    "entry": lambda it: [it.asserted, it.receipt, it.unverifiable].count(None) != 2,
    "claim.flagged": lambda it: len(it.met_by_empty) != len(it.step.expect),
    "claim.discarded": lambda it: {it.flag is None, it.reason is None} != {it.why != "withdrawn"}}
LOOKS = {"time": time_of, "ipv6": IPv6Address, "requirement": lambda text: meets("", text)}

# Section 3: canonical form. A null is no value; in place of an optional one, another spelling.
def read_members(pairs):
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a member twice")
    return Object(pairs)

READER = JSONDecoder(object_pairs_hook=read_members)
WRITER = JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))

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
        is_known, is_deep = it.v == 1 and it.kind in KINDS, depth(it) > 33
        is_event = fits(it, "envelope") and (fits(it.body, it.kind) if is_known else not is_deep)
        is_same = WRITER.encode(it).encode() == data and not is_deep
    except (ValueError, RecursionError, AttributeError, TypeError):
        is_event = False
    if not is_event:
        return None, "malformed"
    body = it.body if is_known else Object()
    own = {"signer": it.key, "key": body.key, "time": time_of(it.time)}
    return Object(body | it | own), None if is_same else "not_canonical"

# Section 4.
def sha256(*parts):
    return hash_of(b"".join(parts)).hexdigest()

def digest(label, value):
    return sha256(f"handoff-ledger/{label}/v1\n".encode(), WRITER.encode(value).encode())

P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P

def times(n, a):
    """[n]A, of an x and a y."""
    if n == 0:
        return 0, 1
    sums = [times(n // 2, a)] * 2 + [a] * (n % 2)
    while len(sums) > 1:
        (x, y), (u, v), *sums = sums
        k = D * x * y * u * v
        sums.insert(0, ((x * v + y * u) * pow(1 + k, -1, P) % P,
                        (y * v + x * u) * pow(1 - k, -1, P) % P))
    return sums[0]

def point(encoding):
    """The point of that encoding, or none if it breaks one of rules 1 to 3 (RFC 8032 section
    5.1.3). The sign of x is left aside: -A is as good as A, and where x is 0, the order is small."""
    y = int.from_bytes(encoding, "little") % 2**255
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if x * x % P == square else x * pow(2, (P - 1) // 4, P) % P
    is_sound = y < P and x * x % P == square and times(8, (x, y)) != (0, 1)
    return (x, y) if is_sound else None

@lru_cache(4096)
def public_key(key):
    """The key of that encoding, or none if it breaks one of rules 1 to 4."""
    a = point(bytes.fromhex(key))
    is_sound = a is not None and times(L, a) == (0, 1)
    return Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)) if is_sound else None

@lru_cache(4096)
def signature_is_valid(key, signature, message):
    """Rules 5 to 8, under a sound key; of rule 8 the equation as OpenSSL has it, no cofactor."""
    try:
        public_key(key).verify(signature, message)
    except InvalidSignature:
        return False
    return int.from_bytes(signature[32:], "little") < L and point(signature[:32]) is not None

# Section 5.2. A version is the numbers given, and what it is compared by.
PRE = r"(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
VERSION = re.compile(rf"([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?{PRE}")
WANTED = re.compile(rf"([=~^]|[<>]=?)(N)(?:\.(N)(?:\.(N){PRE})?)?".replace("N", "0|[1-9][0-9]*"))

def version_of(match):
    *numbers, pre = match.groups()[-4:] if match else ("1" * 20, None)
    given, pre = [int(each) for each in numbers if each], pre.split(".") if pre else []
    if max(given) >= 2**64 or any(re.fullmatch("0[0-9]+", each) for each in pre):
        return None
    pre = [(0, int(each), "") if each.isdigit() else (1, 0, each) for each in pre]
    return given, ((given + [0, 0])[:3], not pre, pre)

def meets(value, text):
    """Does the version in a value meet a requirement? A ValueError if it is none."""
    matches = [WANTED.fullmatch(each) for each in re.split(", ?", text)]
    wanted, here = [version_of(match) for match in matches], version_of(VERSION.search(value))
    if len(text) > 256 or len(matches) > 8 or not all(matches) or not all(wanted):
        raise ValueError("no requirement")
    return here is not None and all(
        meets_one(here[1], match[1], *version) for match, version in zip(matches, wanted)) and (
        here[1][1] or any(least[0] == here[1][0] and not least[1] for _, least in wanted))

def meets_one(version, sign, given, least):
    whole, mine = len(given) == 3, version[0][:len(given)]
    a, b = (version, least) if whole else (mine, given)
    if sign in "~^":
        same = 2 if sign == "~" else [*map(bool, given), True].index(True) + 1
        return mine[:same] == given[:same] and (a >= b if whole or sign == "^" else version[1])
    is_equal = "=" in sign and mine == given and version[2] == least[2]
    return is_equal or ">" in sign and a > b or "<" in sign and a < b

# Section 5.3, by its numbers: CONSTANT has the names that each is about, and its other words.
ASSIGNED = r"[A-Za-z_][A-Za-z0-9_]*=.*"
SKIPPED = re.compile(rf"(?s:-.*|{ASSIGNED}|[0-9.]+[smhd]?)")
KEYWORD = re.compile(f"(?s:{ASSIGNED}|!|if|then|elif|else|fi|while|until|do|done)")
FLAG, OPTION = re.compile("-[A-Za-z]*c[A-Za-z]*"), re.compile("[-+]")

def is_constant(argv):
    is_empty = not argv
    while argv:
        first, *rest = argv
        name = first.rpartition("/")[2]
        if name in CONSTANT[3][0] or name.lower() in CONSTANT[2][0] or first[:1] == "#":
            return True
        if name in CONSTANT[4][0] | CONSTANT[5][0]:
            return {word for word in rest if name == "cat" or word[:1] == "-"} <= (
                CONSTANT[4 if name == "cat" else 5][1])
        if name in CONSTANT[8][0]:
            return not rest or is_constant_script(script_of(rest))
        if name not in CONSTANT[7][0]:
            return name == "set" and rest != []
        argv = [*dropwhile(SKIPPED.fullmatch, rest)]
    return is_empty

def script_of(rest):
    """The script after the flag of a shell; if there is none, one that is not constant."""
    at = next((at for at, word in enumerate(rest) if FLAG.fullmatch(word)), len(rest))
    is_so = all(OPTION.match(word) or OPTION.match(before) and before[-1] == "o"
                for before, word in zip(["", *rest], rest[:at]))
    return rest[at + 1] if is_so and at + 1 < len(rest) else "$"

def is_constant_script(script):
    parts = re.split("[;&|(){}\n\r]", re.sub("['\"\\\\]", "", script))
    return not {*script} & {*"$`<>*?~"} and all(is_constant(
        [*dropwhile(KEYWORD.fullmatch, re.findall("[^ \t]+", part))]) for part in parts)

# Sections 5.1 and 5.4.
def told(probe, receipt=None):
    """Is each expectation met, by a receipt or by empty output? None if only the tool can tell."""
    value = receipt.value if receipt else sha256() if probe.extract == "sha256" else ""
    for kind, given in (re.findall("(?s)^([a-z]+.)(.*)", each)[0] for each in probe.expect):
        if kind == "exit=":
            yield not receipt or receipt.outcome == {"end": "exited", "exit": int(given)}
        elif kind in ("value=", "semver=") and not (receipt and probe.redact):
            yield value is not None and (value == given if kind[0] == "v" else meets(value, given))
        else:
            yield False if kind == "json:" and not receipt else None

def weigh(it):
    """A receipt, with what it is worth."""
    probe, end, check = it.probe, it.outcome.end, it.probe.check or ""
    exits = [int(each[5:]) for each in probe.expect if each[:5] == "exit="] or [0]
    value = {"tcp": "reachable", "http": "reachable", "schema": "valid"}.get(
        check.partition("=")[0], it.value)
    it.finished, it.expected_exit = end in ("exited", "checked"), exits[0]
    it.successful = it.extracted and it.value == value and it.outcome == (
        {"end": "checked"} if check else {"end": "exited", "exit": exits[0]}) and all(
        each.met for each in it.expectations)
    it.is_constant = not check and (
        is_constant_script(probe.argv[0]) if probe.shell else is_constant(probe.argv))
    it.shows = not it.is_constant and (probe.exit_only or check[:8] not in ("", "env-set=") or any(
        each[:5] != "exit=" and said.met and not said.met_by_empty
        for each, said in zip(probe.expect, it.expectations)))
    it.misjudges_empty, misjudges = (any(
        known not in (None, said[name]) for known, said in zip(told(probe, by), it.expectations))
        for name, by in (("met_by_empty", None), ("met", it)))
    it.contradicts = (
        end in (("exited", "signaled", "not_found", "not_executable") if check else (
            "checked", "failed"))
        or it.extracted and not (it.finished and (probe.extract == "none") == (
            it.value is None and it.redacted is None))
        or it.compared != [] and it.redacted is None or check and it.executable is not None
        or it.misjudges_empty or misjudges
        or not it.finished and any(each.met for each in it.expectations))
    return it

def satisfies(value, comparator, receipt):
    """Does a value, or none, satisfy the comparator of an axis with that receipt?"""
    kind, _, given = comparator.partition("=")
    if value is None or kind == "semver":
        return value is not None and meets(value, given)
    if kind == "present":
        is_check = (receipt.probe.check or "").startswith("env-set=")
        return value == "set" if is_check else value.strip(" \t\n\v\f\r") != ""
    return value in (given.split(",") if given else [receipt.value])
