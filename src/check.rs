//! Native checks: what the tool looks at itself, without starting a program.

use crate::env_name::EnvName;
use crate::types::{ParseError, TEXT_BYTES_MAX, text_serde};
use std::fmt;
use std::str::FromStr;

/// Longest host name, in bytes (RFC 1035 section 2.3.4, as text without the final dot).
const HOST_BYTES_MAX: usize = 253;

/// What a native check looks at. One text form each, at most 4,096 bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Check {
    /// `os`: name of the operating system, as `linux` or `macos`.
    Os,
    /// `arch`: name of the processor architecture, as `x86_64`.
    Arch,
    /// `user`: the effective user id, in decimal.
    User,
    /// `privileges`: `root` or `user`, and on Linux a space and the effective capabilities in
    /// hexadecimal.
    Privileges,
    /// `mount-root`: on Linux, type, source and root of the file system mounted at `/`.
    MountRoot,
    /// `netns`: on Linux, the identity of the network namespace.
    NetworkNamespace,
    /// `env=NAME`: the variable's value.
    Env(EnvName),
    /// `env-set=NAME`: `set` or `unset`.
    EnvSet(EnvName),
    /// `file-sha256=PATH`: SHA-256 of the file's bytes, in hexadecimal.
    FileSha256(FilePath),
    /// `tcp=HOST:PORT`: `reachable`, `refused`, `timeout` or `unresolved`.
    Tcp(Endpoint),
    /// `http=URL`: `reachable`, `refused`, `timeout`, `unresolved`, `tls` or `status`.
    Http(Url),
    /// `schema=DOC,SCHEMA`: `valid` or `invalid`, by JSON Schema; neither path holds a comma.
    Schema {
        /// The JSON document that is judged.
        document: FilePath,
        /// The JSON Schema that judges it.
        schema: FilePath,
    },
}

impl Check {
    /// The one value with which this check succeeds; absent if any value will do.
    pub fn required_value(&self) -> Option<&'static str> {
        match self {
            Check::Tcp(_) | Check::Http(_) => Some("reachable"),
            Check::Schema { .. } => Some("valid"),
            Check::Os
            | Check::Arch
            | Check::User
            | Check::Privileges
            | Check::MountRoot
            | Check::NetworkNamespace
            | Check::Env(_)
            | Check::EnvSet(_)
            | Check::FileSha256(_) => None,
        }
    }

    /// Whether it asks only if something is there: `env-set`.
    pub fn is_presence(&self) -> bool {
        matches!(self, Check::EnvSet(_))
    }

    /// Whether it asks if something can be reached: `tcp` and `http`.
    pub fn is_reachability(&self) -> bool {
        matches!(self, Check::Tcp(_) | Check::Http(_))
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Check::Os => f.write_str("os"),
            Check::Arch => f.write_str("arch"),
            Check::User => f.write_str("user"),
            Check::Privileges => f.write_str("privileges"),
            Check::MountRoot => f.write_str("mount-root"),
            Check::NetworkNamespace => f.write_str("netns"),
            Check::Env(name) => write!(f, "env={name}"),
            Check::EnvSet(name) => write!(f, "env-set={name}"),
            Check::FileSha256(path) => write!(f, "file-sha256={path}"),
            Check::Tcp(endpoint) => write!(f, "tcp={endpoint}"),
            Check::Http(url) => write!(f, "http={url}"),
            Check::Schema { document, schema } => write!(f, "schema={document},{schema}"),
        }
    }
}

impl FromStr for Check {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        match text {
            "os" => return Ok(Check::Os),
            "arch" => return Ok(Check::Arch),
            "user" => return Ok(Check::User),
            "privileges" => return Ok(Check::Privileges),
            "mount-root" => return Ok(Check::MountRoot),
            "netns" => return Ok(Check::NetworkNamespace),
            _ => {}
        }
        match text.split_once('=') {
            Some(("env", name)) => name.parse().map(Check::Env),
            Some(("env-set", name)) => name.parse().map(Check::EnvSet),
            Some(("file-sha256", path)) => path.parse().map(Check::FileSha256),
            Some(("tcp", endpoint)) => endpoint.parse().map(Check::Tcp),
            Some(("http", url)) => url.parse().map(Check::Http),
            Some(("schema", paths)) => parse_schema(paths),
            Some(_) | None => Err(ParseError::new(
                "a check: os, arch, user, privileges, mount-root, netns, env=NAME, env-set=NAME, \
                 file-sha256=PATH, tcp=HOST:PORT, http=URL or schema=DOC,SCHEMA",
                text,
            )),
        }
    }
}

text_serde!(Check);

fn parse_schema(paths: &str) -> Result<Check, ParseError> {
    let refused = || ParseError::new("schema=DOC,SCHEMA: two paths without commas", paths);
    let (document, schema) = paths.split_once(',').ok_or_else(refused)?;
    if schema.contains(',') {
        return Err(refused());
    }
    Ok(Check::Schema {
        document: document.parse()?,
        schema: schema.parse()?,
    })
}

macro_rules! checked_text {
    ($(#[$doc:meta])* $name:ident, $rule:path, $expected:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub struct $name(String);

        impl $name {
            /// The text as it was given.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = ParseError;

            fn from_str(text: &str) -> Result<Self, ParseError> {
                if $rule(text) {
                    Ok($name(text.to_owned()))
                } else {
                    Err(ParseError::new($expected, text))
                }
            }
        }
    };
}
pub(crate) use checked_text;

checked_text! {
    /// A path, absolute or under the probe's working directory: 1 to 2,000 bytes, no NUL.
    FilePath, is_path, "a path of 1 to 2000 bytes without NUL"
}
checked_text! {
    /// `HOST:PORT`: a name, an IPv4 address, or an IPv6 address in brackets; a port from 1 to 65535
    /// in decimal without leading zeros.
    Endpoint, is_endpoint, "HOST:PORT, as db.example:5432 or [::1]:5432"
}
checked_text! {
    /// An `http` or `https` URL of at most 2,048 bytes in visible ASCII, without user
    /// information (it would stand in the chain for good) and without a fragment.
    Url, is_url, "http://HOST/… or https://HOST/…, without user:password@ and without #"
}

/// Two of them and a prefix fit a text of 4,096 bytes.
const PATH_BYTES_MAX: usize = 2000;
const URL_BYTES_MAX: usize = TEXT_BYTES_MAX / 2;

fn is_path(text: &str) -> bool {
    (1..=PATH_BYTES_MAX).contains(&text.len()) && !text.contains('\0')
}

fn is_endpoint(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else {
        return false;
    };
    let host_is_good = match host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
    {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => {
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
            (1..=HOST_BYTES_MAX).contains(&host.len()) && host.bytes().all(allowed)
        }
    };
    let port_is_good = matches!(port.parse::<u16>(), Ok(n) if n > 0 && n.to_string() == port);
    host_is_good && port_is_good
}

fn is_url(text: &str) -> bool {
    let after_scheme = text
        .strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"));
    let Some(rest) = after_scheme else {
        return false;
    };
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    text.len() <= URL_BYTES_MAX
        && text.bytes().all(|byte| byte.is_ascii_graphic())
        && !text.contains('#')
        && !authority.is_empty()
        && !authority.contains('@')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_has_one_text_form() {
        for text in [
            "os",
            "arch",
            "user",
            "privileges",
            "mount-root",
            "netns",
            "env=PATH",
            "env-set=CI",
            "file-sha256=Cargo.lock",
            "file-sha256=/etc/a,b=c",
            "tcp=db.example:5432",
            "tcp=[::1]:1",
            "http=https://example.org:8443/health?deep=1",
            "schema=a.json,b.json",
        ] {
            let check: Check = text.parse().unwrap();
            assert_eq!(check.to_string(), text);
        }
    }

    #[test]
    fn a_malformed_check_is_refused() {
        for text in [
            "",
            "OS",
            "os=",
            "env=",
            "env=1A",
            "file-sha256=",
            "tcp=host",
            "tcp=host:0",
            "tcp=host:080",
            "tcp=host:65536",
            "tcp=::1:80",
            "tcp=a b:80",
            "http=ftp://example.org",
            "http=http://",
            "http=http://user:secret@example.org/",
            "http=http://example.org/ x",
            "http=http://example.org/#x",
            "schema=a",
            "schema=a,b,c",
            "schema=,b",
        ] {
            assert!(text.parse::<Check>().is_err(), "{text}");
        }
    }
}
