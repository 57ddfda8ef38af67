//! Telling credentials from other values, so that none is signed into a chain for good.

use regex::RegexSet;
use std::sync::LazyLock;

/// Shapes that are almost never anything but a credential; a modest net, not a guarantee.
const SHAPES: [&str; 13] = [
    // AWS: access key id.
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    // GitHub: classic and fine-grained tokens.
    r"\bgh[pousr]_[0-9A-Za-z]{36,}",
    r"\bgithub_pat_[0-9A-Za-z_]{22,}",
    // GitLab: personal access token.
    r"\bglpat-[0-9A-Za-z_-]{20,}",
    // Slack: tokens and webhooks.
    r"\bxox[abeoprs]-[0-9A-Za-z-]{10,}",
    r"hooks\.slack\.com/services/T[0-9A-Za-z/]{20,}",
    // PEM: a private key of any kind (RFC 7468 section 2).
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----",
    // JWT: header and payload are JSON objects in base64url (RFC 7519 section 3).
    r"\beyJ[0-9A-Za-z_-]{8,}\.eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]*",
    // Stripe: secret and restricted keys.
    r"\b[sr]k_(?:live|test)_[0-9A-Za-z]{16,}",
    // Google: API key.
    r"\bAIza[0-9A-Za-z_-]{35}",
    // Providers of language models: `sk-…`.
    r"\bsk-[0-9A-Za-z_-]{20,}",
    // User and password in a URL (RFC 3986 section 3.2.1).
    r"\b[a-z][a-z0-9+.-]*://[^\s/:@]*:[^\s/@]+@",
    // An assignment that names what it is, as in `DB_PASSWORD=…` or `"api_key": "…"`.
    r#"(?i)(?:passw(?:or)?d|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?token|access[_-]?token)["']?\s*[=:]\s*["']?[^\s"']{6,}"#,
];

static CREDENTIALS: LazyLock<Option<RegexSet>> = LazyLock::new(|| RegexSet::new(SHAPES).ok());

/// Whether something in `text` has the shape of a credential. Such a value is signed only if its
/// probe is redacted.
pub fn looks_like_credential(text: &str) -> bool {
    // Shapes that do not compile would let everything pass; a test holds that they do.
    CREDENTIALS
        .as_ref()
        .is_none_or(|shapes| shapes.is_match(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_told() {
        // Put together here, so that nothing that scans this file takes an example for a leak.
        let of = |prefix: &str, rest: &str| format!("{prefix}{rest}");
        for text in [
            of("AKIA", "IOSFODNN7EXAMPLE"),
            of("ghp_", &"a1B2".repeat(9)),
            of("github_pat_", &"a1_".repeat(10)),
            of("glpat-", &"x".repeat(20)),
            of("xoxb-", "1234567890-abcdef"),
            of(
                "https://hooks.slack.com/services/",
                "T00000000/B00000000/XXXXXXXX",
            ),
            of("-----BEGIN ", "OPENSSH PRIVATE KEY-----"),
            of("-----BEGIN ", "PRIVATE KEY-----"),
            of(
                "eyJhbGciOiJIUzI1NiJ9.",
                "eyJzdWIiOiIxMjM0NTYifQ.c2lnbmF0dXJl",
            ),
            of("sk_live_", &"4".repeat(24)),
            of("AIza", &"S".repeat(35)),
            of("sk-", &"a".repeat(40)),
            of("postgres://app:", "hunter2@db.internal/x"),
            of("DB_PASSWORD=", "correcthorse"),
            of(r#"{"api_key": ""#, r#"0123456789"}"#),
        ] {
            assert!(looks_like_credential(&text), "{text}");
            assert!(
                looks_like_credential(&format!("first line\n  {text} \n")),
                "{text}"
            );
        }
    }

    #[test]
    fn ordinary_values_are_not_credentials() {
        for text in [
            "",
            "Python 3.12.1",
            "prod-1.db.internal:5432",
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "postgres://db.internal/x",
            "https://example.org:8443/path@2",
            "net:[4026531840]",
            "the password is set",
            "secret: no",
            "-----BEGIN CERTIFICATE-----",
            "task-force-of-the-whole-repository",
        ] {
            assert!(!looks_like_credential(text), "{text}");
        }
    }
}
