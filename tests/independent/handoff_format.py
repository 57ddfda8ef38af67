"""Sections 3 to 6 of ledger-format.md: what an event is, when its signature is valid, and what its
values mean. For handoff_verify.py, which says more."""
import functools
import hashlib
import ipaddress
import json
import re
from datetime import datetime, timedelta
from itertools import dropwhile, pairwise
from types import SimpleNamespace

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

MAX_INTEGER = 2**53 - 1

# Texts, as patterns of their bytes. <name> is another pattern; what (?P<name>) matches, LOOKS sees.
TEXTS = r"""
name         [a-z0-9][a-z0-9._/-]{0,63}
text         (?=.*[^ \t-\r]).{1,4096}
value        .{0,4096}
string       .*
digest       [0-9a-f]{64}
variable     [A-Za-z_][A-Za-z0-9_]{0,63}
kind         (?=.{1,64}\Z)[a-z_]+(\.[a-z_]+)+
time         (?P<time>\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z)
role         admin|recorder
class        execution_topology|dependency_version|reachability
end          exited|signaled|timed_out|not_found|not_executable|interrupted|checked|failed
result       same|different
discarded    no_derivation|no_step|vacuous_step|redundant|withdrawn
refused      probe_failed|axis_not_held|from_not_admissible
unverifiable not_run|no_exec|untrusted|salt_missing
decision     allowed|refused
word         [^\0]{0,4096}
cwd          (?=[^\0]{1,4096}\Z)(\.|/|/?<part>(/<part>)*)
part         (?!\.\.?(/|\Z))[^/]+
passed       (?!(HOME|LC_ALL|NO_COLOR|PATH|TERM|TZ)\Z)<variable>
check        <native>|env(-set)?=<variable>|file-sha256=[^\0]{1,2000}|<schema>|<tcp>|<http>
native       os|arch|user|privileges|mount-root|netns
schema       schema=[^\0,]{1,2000},[^\0,]{1,2000}
tcp          tcp=([A-Za-z0-9._-]{1,253}|\[(?P<ipv6>[0-9A-Fa-f:.]+)\]):<port>
port         6553[0-5]|655[0-2]\d|65[0-4]\d\d|6[0-4]\d{3}|[1-5]\d{4}|[1-9]\d{0,3}
http         http=(?!.{2049})https?://[!-"$-.0->A-~]+([/?][!-"$-~]*)?
extract      trim|sha256|none|line:(1000000|[1-9]\d{0,5})|regex:<re>|json:(?!.{4096})<pointer>
pointer      (/([^~/]|~[01])*)*
re           .{1,1024}
expect       (?=.{1,4096}\Z)(value=.*|(value|stdout|stderr)~<re>|<semver>|<json>|exit=<byte>)
semver       semver=(?P<semver>.*)
json         json:(/([^~/=]|~[01])*)*=.*
byte         25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d
comparator   (?=.{1,4096}\Z)(exact|present|<semver>|one-of=(?P<items>[^,]+(,[^,]+){0,63}))
"""
INTEGERS = {"seq": (0, MAX_INTEGER), "positive": (1, MAX_INTEGER), "count": (0, MAX_INTEGER - 1),
            "timeout": (1, 3_600_000), "exit": (0, 255), "signal": (1, 64)}
# Objects, as members and their types. "?": optional; "*": an array; "<": one that ascends strictly,
# objects by axis or name; "+": such a one that is not empty.
RECORDS = """
envelope: body:object key:digest kind:kind prev:digest seq:seq session:seq time:time v:positive
probe: argv?:word* check?:check cwd:cwd env:passed< exit_only:boolean expect:expect* \
extract:extract redact:boolean shell:boolean timeout_ms:timeout
policy: asserted_values:boolean four_eyes:boolean
compared: axis:seq result:result
expectation: met:boolean met_by_empty:boolean
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
entry: asserted?:value axis:seq receipt?:seq unverifiable?:unverifiable
ledger.opened: name:name nonce:digest policy:policy rules:positive
ledger.upgraded: rules:positive v:positive
key.authorized: key:digest label:name roles:role+
key.revoked: compromised_since?:seq key:digest reason:text
session.opened: agent:name inherits:seq< purpose?:text scope:digest
session.abandoned: reason:text session:seq
session.sealed: boundary_digest:digest counts:counts
probe.begun: claim:name flag:seq probe_digest:digest
probe.receipt: begun?:seq compared:compared< duration_ms:count executable?:file \
expectations:expectation* extracted:boolean files:file* outcome:outcome outputs?:outputs \
pipe_held:boolean probe:probe probe_digest:digest redacted?:redacted scope:digest value?:value
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
"""
RECORDS = dict(line.split(": ") for line in RECORDS.replace("\\\n", "").strip().splitlines())
RECORDS = {of: dict(each.split(":") for each in line.split()) for of, line in RECORDS.items()}
NEEDED = {of: {name for name in types if name[-1] != "?"} for of, types in RECORDS.items()}
RECORDS = {of: {name.rstrip("?"): types[name] for name in types} for of, types in RECORDS.items()}
KINDS = {of for of in RECORDS if "." in of}
TEXTS = dict(line.split(None, 1) for line in TEXTS.strip().splitlines())


def pattern(name):
    return re.sub(r"(?<!P)<([a-z]+)>", lambda inner: f"(?:{pattern(inner[1])})", TEXTS[name])


TEXTS = {name: re.compile(pattern(name).encode(), re.DOTALL) for name in TEXTS}


def fits(value, of):
    """Is a value of the type of that name?"""
    if of[-1] in "*<+":
        if not isinstance(value, list) or not all(fits(each, of[:-1]) for each in value):
            return False
        keys = [each.get("axis", each.get("name")) if isinstance(each, dict) else each
                for each in value]
        ascend = of[-1] == "*" or all(a < b for a, b in pairwise(keys))
        return ascend and (of[-1] != "+" or keys != [])
    if of in RECORDS and isinstance(value, dict):
        types, needed = RECORDS[of], NEEDED[of]
        for name in types.keys() - needed:
            if value.get(name, 0) is None:
                del value[name]  # so that what is written again differs: not_canonical
        return (needed <= value.keys() <= types.keys()
                and all(fits(each, types[name]) for name, each in value.items())
                and not (of in REJECTS and REJECTS[of](value)))
    if of in INTEGERS:
        return type(value) is int and INTEGERS[of][0] <= value <= INTEGERS[of][1]
    if of in TEXTS and isinstance(value, str):
        match = TEXTS[of].fullmatch(value.encode())
        return match is not None and all(LOOKS[name](each.decode()) for name, each
                                         in match.groupdict().items() if each is not None)
    return isinstance(value, {"boolean": bool, "object": dict}.get(of, ()))


def is_ipv6(text):
    try:
        return ipaddress.IPv6Address(text) is not None
    except ValueError:
        return False


def time_of(text):
    """Milliseconds since 1970, or none. Python has no year 0; it is as 400, 146,097 days later."""
    year, days = ("0400", 146_097) if text[:4] == "0000" else (text[:4], 0)
    try:
        since = datetime.fromisoformat(year + text[4:-1]) - datetime(1970, 1, 1) - timedelta(days)
    except ValueError:
        return None
    return since // timedelta(milliseconds=1)


LOOKS = {"time": lambda text: time_of(text) is not None, "ipv6": is_ipv6,
         "semver": lambda text: requirement(text) is not None,
         "items": lambda text: len(set(text.split(","))) == text.count(",") + 1}


def probe_is_rejected(probe):
    kinds = [kind_of(each) for each in probe["expect"]]
    argv, check = probe.get("argv", []), probe.get("check")
    of_value = {"value=", "value~", "semver="}
    if (("argv" in probe) == ("check" in probe) or len(kinds) > 32 or kinds.count("exit=") > 1
            or len(probe["env"]) > 64 or probe["extract"] == "none" and of_value & set(kinds)):
        return True
    if check is None:
        return not 0 < len(argv) <= 256 or argv[0] == "" or probe["shell"] and len(argv) != 1
    return (probe["shell"] or probe["exit_only"] or probe["env"] != [] or probe["extract"] != "trim"
            or probe["redact"] and check.startswith(("tcp=", "http=", "schema="))
            or not of_value.issuperset(kinds))


def receipt_is_rejected(it):
    probe, ungiven = it["probe"], not it["extracted"]
    started = "argv" in probe and it["outcome"]["end"] not in ("not_found", "not_executable")
    return (len(it["expectations"]) != len(probe["expect"]) or ("outputs" in it) != started
            or "redacted" in it and (ungiven or not probe["redact"])
            or "value" in it and (ungiven or probe["redact"]))


# What sections 5 and 6 reject beyond the types of the members.
REJECTS = {
    "probe": probe_is_rejected, "probe.receipt": receipt_is_rejected,
    "entry": lambda it: len(it) != 2,
    "outcome": lambda it: ("exit" in it) != (it["end"] == "exited")
    or ("signal" in it) != (it["end"] == "signaled"),
    "claim.flagged": lambda it: len(it["met_by_empty"]) != len(it["step"]["expect"]),
    "claim.discarded": lambda it: ("flag" in it, "reason" in it) != (it["why"] == "withdrawn",) * 2,
    "action.gated": lambda it: not 0 < len(it["argv"]) <= 256}


# Section 3.
WRITER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def canonical(value):
    return WRITER.encode(value).encode()


def read_object(pairs):
    members = dict(pairs)
    if len(members) < len(pairs) or not all(map(re.compile("[a-z0-9_]+").fullmatch, members)):
        raise ValueError("a member twice, or of another name")
    return members


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
    return 1 + max(map(depth, inner), default=0) if isinstance(value, (dict, list)) else 0


def read_event(data):
    """The event in these bytes, or none, and whether they are its canonical form."""
    try:
        it = READER.decode(data.decode())
        if not fits(it, "envelope") or not (
                fits(it["body"], it["kind"]) if it["v"] == 1 and it["kind"] in KINDS
                else depth(it["body"]) <= 32):
            return None, False
        is_same = canonical(it) == data
    except (ValueError, RecursionError):
        return None, False
    return SimpleNamespace(**it | {"time": time_of(it["time"])}), is_same


# Section 4.
P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).hexdigest()


def add(a, b):
    """The sum of two points (X, Y, Z, T): RFC 8032 section 5.1.4."""
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
    """The point that 32 bytes encode by rules 1 and 2, or none: RFC 8032 section 5.1.3."""
    sign, y = divmod(int.from_bytes(encoding, "little"), 2**255)
    u, v = (y * y - 1) % P, (D * y * y + 1) % P
    x = u * v**3 * pow(u * v**7, (P - 5) // 8, P) % P
    x = x if (v * x * x - u) % P == 0 else x * pow(2, (P - 1) // 4, P) % P
    if y >= P or (v * x * x - u) % P or (x == 0 and sign):
        return None
    x = x if x & 1 == sign else P - x
    return x, y, 1, x * y % P


@functools.lru_cache(4096)
def public_key(key):
    """The key with that encoding, or none if it breaks one of rules 1 to 4."""
    point = decode_point(bytes.fromhex(key))
    if point is None or is_identity(8, point) or not is_identity(L, point):
        return None
    return Ed25519PublicKey.from_public_bytes(bytes.fromhex(key))


def signature_is_valid(key, signature, message):
    """Rules 5 to 8, under a sound key. OpenSSL encodes [S]B - [k]A, without cofactor, and compares
    the bytes with R: so R is a canonical point (6), the equation holds (8). 5 and 7 are left to
    us: the order of R divides 8 if y is 0, 1 or -1, or if x^2 + y^2 = 0, as [2]R has y = 0 then."""
    y, s = (int.from_bytes(half, "little") for half in (signature[:32], signature[32:]))
    y %= 2**255
    if s >= L or y in (0, 1, P - 1) or (D * y**4 + 2 * y * y - 1) % P == 0:
        return False
    try:
        public_key(key).verify(signature, message)
    except InvalidSignature:
        return False
    return True


# Section 5.2. A version is ([the numbers given], [the identifiers of the pre-release]).
PRE = r"(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
VERSION = re.compile(rf"()([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?{PRE}")
WANTED = re.compile(rf"([=~^]|[<>]=?)(N)(?:\.(N)(?:\.(N){PRE})?)?".replace("N", "0|[1-9][0-9]*"))


def version_of(match):
    numbers = [int(number) for number in match.groups()[1:4] if number is not None]
    pre = match[5].split(".") if match[5] else []
    if max(numbers) >= 2**64 or any(re.fullmatch("0[0-9]+", each) for each in pre):
        return None
    return numbers, [(0, int(each), "") if each.isdigit() else (1, 0, each) for each in pre]


def requirement(text):
    matches = [WANTED.fullmatch(each) for each in re.split(", ?", text)]
    wanted = [(match[1], version_of(match)) for match in matches if match]
    return wanted if len(text) <= 256 and len(matches) <= 8 and all(matches) and all(
        version for _, version in wanted) else None


def order(numbers, pre):
    """What versions are compared by: Semantic Versioning 2.0.0 section 11."""
    return numbers + [0] * (3 - len(numbers)), not pre, pre


def meets(value, text):
    """Does the version in a value meet a requirement?"""
    match, wanted = VERSION.search(value), requirement(text)
    version = version_of(match) if match else None
    if version is None:
        return False
    here = order(*version)
    return all(meets_one(here, *each) for each in wanted) and (not version[1] or any(
        pre and order(numbers, pre)[0] == here[0] for _, (numbers, pre) in wanted))


def meets_one(here, sign, wanted):
    (numbers, pre), least = wanted, order(*wanted)
    count, given = len(numbers), here[0][:len(numbers)]
    if sign == "~":
        return given[:2] == numbers[:2] and (here >= least if count == 3 else not here[2])
    if sign == "^":
        fixed = next((at for at, number in enumerate(numbers) if number), count - 1) + 1
        return given[:fixed] == numbers[:fixed] and (
            here >= least if count == 3 else given >= numbers)
    a, b = (here, least) if count == 3 else (given, numbers)
    return (">" in sign and a > b or "<" in sign and a < b
            or "=" in sign and given == numbers and here[2] == pre)


# Section 5.3.
COMPARISONS = {"-", "-n", "-z", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"}
PLACEHOLDERS = ("todo", "tbd", "fixme", "xxx", "...")
CONSTANT = ": true false echo printf exit return yes sleep seq expr basename dirname".split()
WRAPPERS = "env nice nohup command builtin exec eval time timeout setsid stdbuf busybox".split()
ASSIGNED = "[A-Za-z_][A-Za-z0-9_]*=.*"


def without_first(words, dropped):
    return list(dropwhile(re.compile(dropped, re.DOTALL).fullmatch, words))


def words_are_constant(words):
    name = words[0].rsplit("/", 1)[-1] if words else "true"
    if name.lower() in PLACEHOLDERS or name in CONSTANT or words[0][:1] == "#":
        return True
    if name == "cat":
        return set(words[1:]) <= {"-", "/dev/null"}
    if name in ("test", "[", "[["):
        return {word for word in words[1:] if word[:1] == "-"} <= COMPARISONS
    if name == "set":
        return len(words) > 1
    if name in WRAPPERS:
        left = without_first(words[1:], rf"-.*|{ASSIGNED}|[0-9.]+[smhd]?")
        return left != [] and words_are_constant(left)
    if name not in ("sh", "bash", "dash", "zsh", "ash", "ksh"):
        return False
    flags = [re.fullmatch("-[A-Za-z]*c[A-Za-z]*", word) for word in words[1:]]
    at = next((at for at, flag in enumerate(flags, 1) if flag), 0)
    signed = [at > 0 and word[:1] in ("-", "+") for at, word in enumerate(words)]
    return len(words) == 1 or 0 < at < len(words) - 1 and script_is_constant(words[at + 1]) and all(
        signed[i] or signed[i - 1] and words[i - 1].endswith("o") for i in range(1, at))


def script_is_constant(script):
    parts = re.split("[;&|(){}\n\r]", re.sub("['\"\\\\]", "", script))
    dropped = ASSIGNED + "|!|if|then|elif|else|fi|while|until|do|done"
    return not set(script) & set("$`<>*?~") and all(
        words_are_constant(without_first(re.findall("[^ \t]+", part), dropped)) for part in parts)


def is_constant(probe):
    argv = probe.get("argv")
    is_script = probe["shell"]
    return bool(argv) and (script_is_constant(argv[0]) if is_script else words_are_constant(argv))


# Sections 5.1 and 5.4.
def probe_digest(probe):
    return sha256(b"handoff-ledger/probe/v1\n", canonical(probe))


def kind_of(expectation):
    return re.match("[a-z]+[=~:]", expectation)[0]


def told(expectation, probe, receipt=None):
    """Is it met, by a receipt or by empty output? None if only the tool can tell."""
    kind, given = kind_of(expectation), expectation[len(kind_of(expectation)):]
    value = receipt.get("value") if receipt else sha256() if probe["extract"] == "sha256" else ""
    if kind == "exit=":
        return not receipt or receipt["outcome"] == {"end": "exited", "exit": int(given)}
    if kind in ("value=", "semver=") and not (receipt and probe["redact"]):
        return value is not None and (value == given if kind == "value=" else meets(value, given))
    return False if kind == "json:" and not receipt else None


def expected_exit(probe):
    return next((int(each[5:]) for each in probe["expect"] if kind_of(each) == "exit="), 0)


def finished(receipt):
    return receipt["outcome"]["end"] in ("exited", "checked")


def successful(receipt):
    probe, value = receipt["probe"], receipt.get("value")
    check = probe.get("check", "").partition("=")[0]
    wanted = {"tcp": "reachable", "http": "reachable", "schema": "valid"}.get(check, value)
    end = {"end": "checked"} if check else {"end": "exited", "exit": expected_exit(probe)}
    return (receipt["outcome"] == end and receipt["extracted"] and value == wanted
            and all(each["met"] for each in receipt["expectations"]))


def shown(probe, expectations):
    """What a receipt with these (met, met_by_empty) shows: a value, exit_only or nothing."""
    says = any(met and not by_empty and kind_of(each) != "exit="
               for each, (met, by_empty) in zip(probe["expect"], expectations))
    if is_constant(probe):
        return "nothing"
    if says or not probe.get("check", "env-set=").startswith("env-set="):
        return "value"
    return "exit_only" if probe["exit_only"] else "nothing"


def shown_by(receipt):
    return shown(receipt["probe"], [(each["met"], each["met_by_empty"])
                                    for each in receipt["expectations"]])


def contradicts_itself(receipt):
    """Rule receipt_shape, section 9.3."""
    probe, has_value = receipt["probe"], "value" in receipt or "redacted" in receipt
    others = ("checked", "failed") if "argv" in probe else (
        "exited", "signaled", "not_found", "not_executable")
    return (receipt["outcome"]["end"] in others or "check" in probe and "executable" in receipt
            or receipt["extracted"] and (
                not finished(receipt) or has_value == (probe["extract"] == "none"))
            or receipt["compared"] != [] and "redacted" not in receipt
            or any(said["met"] and not finished(receipt)
                   or told(each, probe, receipt) not in (None, said["met"])
                   or told(each, probe) not in (None, said["met_by_empty"])
                   for each, said in zip(probe["expect"], receipt["expectations"])))


def satisfies(value, comparator, receipt):
    """Does a value, or none, satisfy the comparator of an axis with that receipt?"""
    kind, _, given = comparator.partition("=")
    if value is None:
        return False
    if kind == "present":
        is_presence = receipt["probe"].get("check", "").startswith("env-set=")
        return value == "set" if is_presence else value.strip(" \t\n\v\f\r") != ""
    return (value == receipt.get("value") if kind == "exact"
            else value in given.split(",") if kind == "one-of" else meets(value, given))
