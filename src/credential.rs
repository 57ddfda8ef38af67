//! Telling credentials from other texts, so that none is signed into a chain for good.
//!
//! Two nets: the rules of gitleaks (`credential/rules.json`), with their keywords, entropies and
//! exceptions, and shapes of our own for what they leave to a file's context. Neither is a
//! guarantee. Nothing here returns the text: a refusal names the field and the rule.

use regex::bytes::{Captures, Match, Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;
use std::sync::{LazyLock, OnceLock};

/// What gitleaks holds for credentials; see `credential/LICENSE`.
const RULES: &str = include_str!("credential/rules.json");

/// The rule of a set that cannot be read: it holds everything for a credential, and a test holds
/// that it is never met.
const UNREADABLE: &str = "unreadable-rules";

/// Shapes that are almost never anything but a credential, each with its name.
const SHAPES: [(&str, &str); 15] = [
    // AWS: access key id.
    ("aws-access-key-id", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    // GitHub: classic and fine-grained tokens.
    ("github-token", r"\bgh[pousr]_[0-9A-Za-z]{36,}"),
    (
        "github-fine-grained-token",
        r"\bgithub_pat_[0-9A-Za-z_]{22,}",
    ),
    // GitLab: personal access token.
    ("gitlab-token", r"\bglpat-[0-9A-Za-z_-]{20,}"),
    // Slack: tokens and webhooks.
    ("slack-token", r"\bxox[abeoprs]-[0-9A-Za-z-]{10,}"),
    (
        "slack-webhook",
        r"hooks\.slack\.com/services/T[0-9A-Za-z/]{20,}",
    ),
    // PEM: a private key of any kind (RFC 7468 section 2).
    (
        "private-key-header",
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----",
    ),
    // JWT: header and payload are JSON objects in base64url (RFC 7519 section 3).
    (
        "json-web-token",
        r"\beyJ[0-9A-Za-z_-]{8,}\.eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]*",
    ),
    // Stripe: secret and restricted keys.
    ("stripe-key", r"\b[sr]k_(?:live|test)_[0-9A-Za-z]{16,}"),
    // Google: API key.
    ("google-api-key", r"\bAIza[0-9A-Za-z_-]{35}"),
    // Providers of language models: `sk-…`.
    ("sk-key", r"\bsk-[0-9A-Za-z_-]{20,}"),
    // User and password in a URL (RFC 3986 section 3.2.1), not a variable of a shell.
    (
        "url-userinfo",
        r"\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s/:@]*:[^\s/@$][^\s/@]*@",
    ),
    // An assignment that names what it is, as in `DB_PASSWORD=…` or `"api_key": "…"`, of something
    // that stands there itself: no variable (`$…`) and no placeholder (`<…>`, `***`).
    (
        "named-secret",
        r#"(?i)(?:passw(?:or)?d|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?token|access[_-]?token)["']?\s*[=:]\s*["']?[^\s"'$<*{][^\s"']{5,}"#,
    ),
    // The same as an option of a command line.
    (
        "secret-option",
        r#"(?i)(?:^|\s)--?(?:passw(?:or)?d|passphrase|api[_-]?key|(?:auth|access)?[_-]?token)\s+["']?[^\s"'$<*{-][^\s"']{5,}"#,
    ),
    // HTTP: Authorization with its credentials (RFC 9110 section 11.6.2).
    (
        "authorization-header",
        r#"(?i)\bauthorization["']?\s*[:=]\s*["']?(?:basic|bearer|token)\s+[^\s"'$<*{][^\s"']{7,}"#,
    ),
];

static OWN: LazyLock<Option<RegexSet>> = LazyLock::new(|| {
    let patterns = SHAPES.iter().map(|(_, pattern)| pattern);
    RegexSetBuilder::new(patterns).unicode(false).build().ok()
});

static SET: LazyLock<Option<Set>> = LazyLock::new(|| serde_json::from_str(RULES).ok());

#[derive(Deserialize)]
struct Set {
    /// What is no credential, whichever rule says so.
    #[serde(rename = "except")]
    everywhere: Exception,
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
struct Rule {
    id: String,
    regex: Cow<'static, str>,
    /// In lower case; a text without any of them is not looked at.
    keywords: Vec<Cow<'static, str>>,
    /// Shannon entropy that the secret must exceed, in thousandths of a bit per byte.
    entropy: u64,
    /// Group of the expression that is the secret; 0 for the first that took part, if any.
    group: usize,
    except: Vec<Exception>,
    #[serde(skip)]
    compiled: OnceLock<Option<Regex>>,
}

#[derive(Deserialize)]
struct Exception {
    target: Target,
    regexes: Vec<Cow<'static, str>>,
    stopwords: Vec<Cow<'static, str>>,
    #[serde(skip)]
    compiled: OnceLock<Option<RegexSet>>,
}

/// What an exception is compared with.
#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Target {
    Secret,
    Match,
    Line,
}

/// The rule that holds something in `text` for a credential.
pub fn find(text: &[u8]) -> Option<&'static str> {
    if text.is_empty() {
        return None;
    }
    let (Some(own), Some(set)) = (OWN.as_ref(), SET.as_ref()) else {
        return Some(UNREADABLE);
    };
    let first = own.matches(text).into_iter().next();
    if let Some((name, _)) = first.and_then(|place| SHAPES.get(place)) {
        return Some(name);
    }
    let lower = String::from_utf8_lossy(text).to_ascii_lowercase();
    let rule = set.rules.iter().find(|rule| rule.finds(text, &lower, set));
    rule.map(|rule| rule.id.as_str())
}

/// A credential in something that is to be signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Where, as in `probe.argv`.
    pub field: String,
    /// The rule.
    pub rule: &'static str,
}

/// The first credential in a text of `value`, at any depth. What stands in an `argv` is also
/// looked at as the one line that it was typed as.
pub fn find_in(field: &str, value: &Value) -> Option<Found> {
    let found = |rule| Found {
        field: field.to_owned(),
        rule,
    };
    match value {
        Value::String(text) => find(text.as_bytes()).map(found),
        Value::Array(items) => {
            let texts: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            let line = texts
                .filter(|_| field.ends_with("argv"))
                .map(|it| it.join(" "));
            let in_line = line.and_then(|line| find(line.as_bytes()));
            in_line
                .map(found)
                .or_else(|| items.iter().find_map(|item| find_in(field, item)))
        }
        Value::Object(members) => members.iter().find_map(|(name, value)| {
            let below = match field {
                "" => name.clone(),
                above => format!("{above}.{name}"),
            };
            find_in(&below, value)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

impl Rule {
    fn finds(&self, text: &[u8], lower: &str, set: &Set) -> bool {
        if !self
            .keywords
            .iter()
            .any(|word| lower.contains(word.as_ref()))
        {
            return false;
        }
        let compiled = self.compiled.get_or_init(|| compile(&self.regex));
        let Some(regex) = compiled else {
            return true;
        };
        regex.captures_iter(text).any(|captures| {
            let Some(whole) = captures.get(0) else {
                return false;
            };
            let secret = self.secret(&captures).unwrap_or(whole);
            let is_random = self.entropy == 0 || exceeds(secret.as_bytes(), self.entropy);
            let excepted = |exception: &Exception| exception.covers(text, whole, secret);
            is_random && !excepted(&set.everywhere) && !self.except.iter().any(excepted)
        })
    }

    fn secret<'t>(&self, captures: &Captures<'t>) -> Option<Match<'t>> {
        match self.group {
            0 => captures.iter().skip(1).flatten().find(|it| !it.is_empty()),
            group => captures.get(group),
        }
    }
}

impl Exception {
    fn covers(&self, text: &[u8], whole: Match<'_>, secret: Match<'_>) -> bool {
        let target = match self.target {
            Target::Secret => secret.as_bytes(),
            Target::Match => whole.as_bytes(),
            Target::Line => lines_around(text, whole),
        };
        let compiled = self.compiled.get_or_init(|| {
            let patterns = self.regexes.iter().map(Cow::as_ref);
            RegexSetBuilder::new(patterns).unicode(false).build().ok()
        });
        if compiled.as_ref().is_some_and(|set| set.is_match(target)) {
            return true;
        }
        let lower = String::from_utf8_lossy(secret.as_bytes()).to_ascii_lowercase();
        self.stopwords
            .iter()
            .any(|word| lower.contains(word.as_ref()))
    }
}

/// The expressions are of Go's library, whose classes are ASCII.
fn compile(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).unicode(false).build().ok()
}

fn lines_around<'t>(text: &'t [u8], found: Match<'_>) -> &'t [u8] {
    let is_end = |byte: &u8| *byte == b'\n';
    let before = text.get(..found.start()).unwrap_or_default();
    let after = text.get(found.end()..).unwrap_or_default();
    let start = before.iter().rposition(is_end).map_or(0, |at| at + 1);
    let end = after
        .iter()
        .position(is_end)
        .map_or(text.len(), |at| found.end() + at);
    text.get(start..end).unwrap_or_default()
}

/// Whether the Shannon entropy of the bytes is above `least` thousandths of a bit per byte.
///
/// With `n` bytes of which value `i` is there `c_i` times, `H = log2(n) - (1/n) Σ c_i log2(c_i)`.
fn exceeds(bytes: &[u8], least: u64) -> bool {
    let mut counts = [0_u64; 256];
    for byte in bytes {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count += 1;
        }
    }
    let n: u64 = counts.iter().sum();
    let weighed: u64 = (counts.iter().filter(|count| **count > 0))
        .map(|count| count * log2(*count))
        .sum();
    let entropy_times_n = (n * log2(n.max(1))).saturating_sub(weighed);
    entropy_times_n * 1000 > (least * n) << LOG_BITS
}

/// How many bits of a logarithm stand after the point.
const LOG_BITS: u32 = 16;

/// The binary logarithm of `x`, which is at least 1, in units of 2^-16, cut off. Bit by bit: the
/// logarithm of `y²` is twice that of `y`.
fn log2(x: u64) -> u64 {
    let whole = x.max(1).ilog2();
    // y = x / 2^whole, from 1 to below 2, in units of 2^-31.
    let mut y = match whole {
        0..=31 => x << (31 - whole),
        _ => x >> (whole - 31),
    };
    let mut log = u64::from(whole) << LOG_BITS;
    for bit in (0..LOG_BITS).rev() {
        y = (y * y) >> 31;
        if y >> 32 != 0 {
            y >>= 1;
            log |= 1 << bit;
        }
    }
    log
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_and_every_exception_compiles() {
        assert!(OWN.is_some());
        let set = SET.as_ref().unwrap();
        assert_eq!(set.rules.len(), 221);
        for rule in &set.rules {
            assert!(compile(&rule.regex).is_some(), "{}", rule.id);
            let lower = rule.keywords.iter().all(|it| **it == it.to_lowercase());
            assert!(lower && !rule.keywords.is_empty(), "{}", rule.id);
        }
        for exception in set
            .rules
            .iter()
            .flat_map(|it| &it.except)
            .chain([&set.everywhere])
        {
            let patterns = exception.regexes.iter().map(Cow::as_ref);
            assert!(
                RegexSetBuilder::new(patterns)
                    .unicode(false)
                    .build()
                    .is_ok()
            );
            let lower = exception
                .stopwords
                .iter()
                .all(|it| **it == it.to_lowercase());
            assert!(lower);
        }
    }

    #[test]
    #[allow(
        clippy::as_conversions,
        clippy::float_arithmetic,
        reason = "what it is compared with is a float"
    )]
    fn a_logarithm_is_as_the_machine_s() {
        for x in (1..5000).chain([65_536, 1 << 40, u64::MAX]) {
            let exact = f64::log2(x as f64);
            let told = log2(x) as f64 / 65_536.0;
            assert!((exact - told).abs() < 1e-3, "{x}: {exact} {told}");
        }
    }

    #[test]
    fn entropy_is_shannons() {
        let four = b"aabbccdd";
        assert!(exceeds(four, 1999) && !exceeds(four, 2000));
        assert!(!exceeds(b"aaaa", 0) && !exceeds(b"", 0));
        let all: Vec<u8> = (0..=255).collect();
        assert!(exceeds(&all, 7999) && !exceeds(&all, 8000));
    }

    #[test]
    fn a_field_is_named_by_its_place() {
        let token = ["gl", "pat-", &"x".repeat(20)].concat();
        let body = serde_json::json!({ "a": 1, "b": { "c": ["x", token] } });
        let found = find_in("", &body).unwrap();
        assert_eq!((found.field.as_str(), found.rule), ("b.c", "gitlab-token"));
        let split = serde_json::json!({ "argv": ["psql", "--password", "correct-horse"] });
        assert_eq!(find_in("probe", &split).unwrap().field, "probe.argv");
    }
}
