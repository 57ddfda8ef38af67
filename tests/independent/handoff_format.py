"""Sections 3 to 6 of ledger-format.md: what an event is, and what it says by itself."""
import re
from contextlib import suppress
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import sha256 as hash_of
from ipaddress import IPv6Address
from itertools import dropwhile
from json import JSONDecoder, JSONEncoder

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

# Types, and the members that have one if nothing else is said: booleans, integers, and texts as
# patterns of their bytes, where <name> is another type, and LOOKS looks at a (?P<name>) again.
TYPES = r"""
object,body  object
boolean,asserted_values,exit_only,extracted,four_eyes,met,met_by_empty,pipe_held,redact  boolean
shell  boolean
seq,begun,compromised_since,flag,gate,receipt,session,up_to  0..9007199254740991
positive,max_age_ms,rules,v  1..9007199254740991
count,duration_ms,length  0..9007199254740990
timeout_ms  1..3600000
exit  0..255
signal  1..64
name,agent,axis,claim,do_not_act_on,label  [a-z0-9][a-z0-9._/-]{0,63}
text,independent,purpose,reason,statement  (?=.*[^ \t-\r]).{1,4096}
value,asserted,derivation  .{0,4096}
string,path  .*
digest,boundary_digest,commitment,key,nonce,prev,probe_digest,salt_digest,scope  [0-9a-f]{64}
step_digest,until_probe  [0-9a-f]{64}
variable  [A-Za-z_][A-Za-z0-9_]{0,63}
kind  (?=.{1,64}\Z)[a-z_]+(\.[a-z_]+)+
time  (?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)
word  [^\0]{0,4096}
part  (?!\.\.?(/|\Z))[^/]+
cwd  (?=[^\0]{1,4096}\Z)(\.|/|/?<part>(/<part>)*)
passed  (?!(HOME|LC_ALL|NO_COLOR|PATH|TERM|TZ)\Z)<variable>
native  os|arch|user|privileges|mount-root|netns
file  [^\0,]{1,2000}
port  6553[0-5]|655[0-2]\d|65[0-4]\d\d|6[0-4]\d{3}|[1-5]\d{4}|[1-9]\d{0,3}
tcp  tcp=([A-Za-z0-9._-]{1,253}|\[(?P<ipv6>[0-9A-Fa-f:.]+)\]):<port>
http  http=(?!.{2049})https?://[!-"$-.0->A-~]+([/?][!-"$-~]*)?
check  <native>|env(-set)?=<variable>|file-sha256=[^\0]{1,2000}|schema=<file>,<file>|<tcp>|<http>
re  .{1,1024}
extract  trim|sha256|none|line:(1000000|[1-9]\d{0,5})|regex:<re>|json:(?!.{4096})(/([^~/]|~[01])*)*
semver  semver=(?P<semver>.*)
json  json:(/([^~/=]|~[01])*)*=.*
byte  25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d
expect  (?=.{1,4096}\Z)(value=.*|(value|stdout|stderr)~<re>|<semver>|<json>|exit=<byte>)
twice  (?!(.*,)?(?P<item>[^,]+),(.*,)?(?P=item)(,|\Z))
comparator  (?=.{1,4096}\Z)(exact|present|<semver>|one-of=<twice>[^,]+(,[^,]+){0,63})
"""
# Objects. Of a kind: @session, and @role if it is admin, as in section 6, or its @list of section
# 11. Members, with ? if they may be absent, and their types. *: an array, <: strictly ascending,
# +: not empty, at most so many. A type that TYPES does not have is a pattern.
OBJECTS = """
envelope: body key kind prev seq session time v
probe: argv?:word*+256 check? cwd env:passed*<64 exit_only expect:expect*32 extract redact shell
  timeout_ms
outcome: exit? signal?
  end:exited|signaled|timed_out|not_found|not_executable|interrupted|checked|failed
outputs: stderr:stream stdout:stream
stream: kept:bytes whole:bytes
bytes: commitment length
policy: asserted_values four_eyes
compared: axis:seq result:same|different
expectation: met met_by_empty
digested: digest path
redacted: commitment salt_digest
drift: name observed:value* reason
need: axis comparator? probe_digest?
directive: do_not_act_on until_probe
counts: ambient:count axes:count claims:count discards:count flags:count promotions:count
  receipts:count retractions:count
entry: asserted? axis:seq receipt? unverifiable?:not_run|no_exec|untrusted|salt_missing
ledger.opened: @none name nonce policy rules
ledger.upgraded: @none @admin rules v
key.authorized: @none @admin key label roles:admin|recorder*<+
key.revoked: @none @admin compromised_since? key reason
session.opened: @none agent inherits:seq*< purpose? scope
session.abandoned: @none reason session
session.sealed: @own boundary_digest counts
probe.begun: @own @begun claim flag probe_digest
probe.receipt: @own @receipts begun? compared:compared*< duration_ms executable?:digested
  expectations:expectation* extracted files:digested* outcome outputs? pipe_held probe
  probe_digest redacted? scope value?
axis.recorded: @own @axes axis class:execution_topology|dependency_version|reachability comparator
  max_age_ms? receipt
ambient.declared: @own @ambient entries:drift*<
claim.verified: @own @claims claim from:name*< independent? needs:seq*< receipts:seq*<+ statement
claim.flagged: @own @flags claim derivation directive executable?:digested files:digested*
  independent? met_by_empty:boolean* needs:need*< statement step:probe step_digest
claim.promoted: @own @promotions claim flag from:name*< independent? needs:seq*< receipt
claim.promotion_refused: @own @promotions_refused claim flag receipt
  why:probe_failed|axis_not_held|from_not_admissible
claim.retracted: @own @retractions claims:name*<+ reason receipt?
claim.discarded: @any @discards claim flag? reason? statement
  why:no_derivation|no_step|vacuous_step|redundant|withdrawn
boundary.reverified: @own @reverified entries:entry*<
action.gated: @own @gates argv:value*+256 claims:name*<+ decision:allowed|refused
action.finished: @own gate outcome
capture.erased: @none @admin commitments:digest*<+ reason
event.acknowledged: @none @admin reason up_to
"""

def read_types(text):
    types, plain = {}, {"boolean": bool, "object": dict}

    def inner(name):
        return f"(?:{types[name[1]].pattern.decode()})"
    for names, spec in (line.split("  ") for line in text.strip().split("\n")):
        spec = re.sub("(?<!P)<([a-z]+)>", inner, spec)
        low, is_range, high = spec.partition("..")
        types |= dict.fromkeys(names.split(","), range(int(low), int(high) + 1) if is_range else
                               plain.get(spec) or re.compile(spec.encode(), re.DOTALL))
    return types

TYPES = read_types(TYPES)
OBJECTS = dict(line.split(": ") for line in OBJECTS.replace("\n  ", " ").strip().split("\n"))
TAGS = {of: re.findall(r"@(\w+)", text) for of, text in OBJECTS.items() if "@" in text}
OBJECTS = {of: {name: (optional, of or name) for name, optional, of in re.findall(
    r"(?<!\S)(\w+)(\??):?(\S*)", text)} for of, text in OBJECTS.items()}

class Object(dict):
    """A JSON object, its members as attributes; one that is not there is None."""
    __getattr__, __setattr__ = dict.get, dict.__setitem__

    def __init__(self, *members, **others):
        super().__init__(*members, **others)
        object.__setattr__(self, "__dict__", self)

@lru_cache(None)
def type_of(of):
    """Whether a value is of a type, as a function; which may say no by a ValueError of LOOKS."""
    of, is_array, rest = of.partition("*")
    if is_array:
        is_one, least, most = type_of(of), "+" in rest, int(rest.strip("<+") or 2**53)
        return lambda value: isinstance(value, list) and least <= len(value) <= most and all(
            map(is_one, value)) and ("<" not in rest or ascends(value))
    if of in OBJECTS:
        types = {name: (optional, type_of(of)) for name, (optional, of) in OBJECTS[of].items()}
        reject = REJECT.get(of, lambda it: False)
        return lambda value: isinstance(value, dict) and value.keys() <= types.keys() and all(
            optional if value.get(name) is None else is_one(value[name])
            for name, (optional, is_one) in types.items()) and not reject(value)
    spec = TYPES.get(of, of.encode())
    if isinstance(spec, range):
        return lambda value: type(value) is int and value in spec
    if isinstance(spec, type):
        return lambda value: isinstance(value, spec)
    return lambda value: isinstance(value, str) and matches(spec, value)

@lru_cache(65536)
def matches(spec, text):
    match = re.fullmatch(spec, text.encode())
    return match is not None and all(LOOKS.get(name, str)(text.decode()) is not None for name, text
                                     in match.groupdict().items() if text is not None)

def ascends(values):
    keys = [each.get("axis", each.get("name")) if isinstance(each, dict) else each
            for each in values]
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

# What sections 3, 5.1 and 6 reject beyond the types of members.
REJECT = {
    "envelope": lambda it: not type_of(it.kind)(it.body) if it.v == 1 and it.kind in TAGS else (
        depth(it.body) > 32),
    "probe": probe_is_rejected, "probe.receipt": receipt_is_rejected,
    "outcome": lambda it: [it.end == "exited", it.end == "signaled"] != [
        it.exit is not None, it.signal is not None],
    "entry": lambda it: len(it) != 2,
    "claim.flagged": lambda it: len(it.met_by_empty) != len(it.step.expect),
    "claim.discarded": lambda it: {it.flag is None, it.reason is None} != {it.why != "withdrawn"}}
LOOKS = {"time": time_of, "ipv6": IPv6Address, "semver": lambda text: meets("", text)}

# Section 3: canonical form. A null is no value; in place of an optional one, another spelling.
def read_members(pairs):
    it = Object(pairs)
    if len(it) < len(pairs):
        raise ValueError("a member twice")
    return it

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
    with suppress(ValueError, RecursionError):
        it = READER.decode(data.decode())
        if type_of("envelope")(it):
            is_same = WRITER.encode(it).encode() == data and (
                b":null" not in data or depth(it) < 99)
            body = it.body if it.v == 1 and it.kind in TAGS else Object()
            own = {"signer": it.key, "key": body.key, "time": time_of(it.time)}
            return Object(body | it | own), None if is_same else "not_canonical"
    return None, "malformed"

def sha256(*parts):
    return hash_of(b"".join(parts)).hexdigest()

# Section 4.
def digest(label, value):
    return sha256(f"handoff-ledger/{label}/v1\n".encode(), WRITER.encode(value).encode())

P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P

def is_small(y):
    """Is [8]A the identity? So if y is 0, 1 or -1, or x^2 + y^2 = 0, as [2]A has y = 0 then."""
    return y in (0, 1, P - 1) or (D * y**4 + 2 * y * y - 1) % P == 0

def add(a, b):
    (x, y), (u, v) = a, b
    k = D * x * y * u * v
    return (x * v + y * u) * pow(1 + k, -1, P) % P, (y * v + x * u) * pow(1 - k, -1, P) % P

@lru_cache(4096)
def public_key(key):
    """The key of that encoding, or none if it breaks one of rules 1 to 4 (RFC 8032 section 5.1.3).
    The sign of x is left aside: -A is as good as A, and where x is 0, the order is small."""
    y = int.from_bytes(bytes.fromhex(key), "little") % 2**255
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x, product = pow(square, (P + 3) // 8, P), (0, 1)
    x = x if x * x % P == square else x * pow(2, (P - 1) // 4, P) % P
    if y >= P or x * x % P != square or is_small(y):
        return None
    for bit in f"{L:b}":
        product = add(add(product, product), (x, y) if bit == "1" else (0, 1))
    return Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)) if product == (0, 1) else None

@lru_cache(4096)
def signature_is_valid(key, signature, message):
    """Rules 5 to 8, under a sound key. OpenSSL encodes [S]B - [k]A, without cofactor, and compares
    the bytes with R: so R is a canonical point (6), and the equation holds (8)."""
    r, s = (int.from_bytes(half, "little") for half in (signature[:32], signature[32:]))
    with suppress(InvalidSignature):
        public_key(key).verify(signature, message)
        return s < L and not is_small(r % 2**255)
    return False

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

# Section 5.3, by its numbers. Each word ends in U+0000.
ASSIGNED, FLAG = r"[A-Za-z_][A-Za-z0-9_]*=[^\0]*", r"-[A-Za-z]*c[A-Za-z]*\0"
CONSTANT = (  # 1 to 6
    r"|#.*|(?:[^\0]*/)?(?:(?i:todo|tbd|fixme|xxx|\.\.\.)\0.*"
    r"|(?::|true|false|echo|printf|exit|return|yes|sleep|seq|expr|basename|dirname)\0.*"
    r"|cat\0(?:(?:-|/dev/null)\0)*"
    r"|(?:test|\[|\[\[)\0(?:(?:-(?:n|z|eq|ne|lt|le|gt|ge)?|(?!-)[^\0]*)\0)*|set\0.+)")
WRAPPED = (  # 7
    r"(?:(?:[^\0]*/)?(?:env|nice|nohup|command|builtin|exec|eval|time|timeout|setsid|stdbuf"
    rf"|busybox)\0(?:(?:-[^\0]*|{ASSIGNED}|[0-9.]+[smhd]?)\0)*)*")
SHELL = (  # 8
    rf"(?:[^\0]*/)?(?:sh|bash|dash|zsh|ash|ksh)\0(?:(?:(?!{FLAG})[-+][^\0]*\0"
    rf"(?:(?<=o\0)(?![-+])[^\0]*\0)?)*{FLAG}([^\0]*)\0.*)?")
KEYWORD = re.compile(f"{ASSIGNED}|!|if|then|elif|else|fi|while|until|do|done")

def is_constant(words):
    words = "".join(f"{word}\0" for word in words)
    left = words[re.match(WRAPPED, words).end():]
    if shell := re.fullmatch(SHELL, left, re.DOTALL):
        return shell[1] is None or is_constant_script(shell[1])
    return (left != "" or words == "") and bool(re.fullmatch(CONSTANT, left, re.DOTALL | re.ASCII))

def is_constant_script(script):
    parts = re.split("[;&|(){}\n\r]", re.sub("['\"\\\\]", "", script))
    return not {*script} & {*"$`<>*?~"} and all(
        is_constant(dropwhile(KEYWORD.fullmatch, re.findall("[^ \t]+", part))) for part in parts)

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
