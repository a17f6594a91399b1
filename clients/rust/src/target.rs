//! Where the service listens, as text: what may be written, and whether it leaves this machine.

use std::net::IpAddr;

use tonic::transport::{Endpoint, Uri};

use crate::Error;

/// A target that was understood.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) endpoint: Endpoint,
    /// Whether the connection shall be encrypted, as the scheme or the caller says.
    pub(crate) encrypted: bool,
    /// Whether nothing leaves this machine: loopback or a Unix socket.
    pub(crate) local: bool,
}

impl Target {
    /// Reads `host:port`, `dns:///host:port`, `http://host:port`, `https://host:port` or `unix:/path`.
    pub(crate) fn parse(text: &str, encrypted: bool) -> Result<Self, Error> {
        if text.starts_with("unix:") {
            return Self::of_socket(text, encrypted);
        }
        let (scheme, authority) = scheme_of(text, encrypted)?;
        let uri: Uri = format!("{scheme}://{authority}").parse().map_err(|_| not_a_target(text))?;
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(|| not_a_target(text))?;
        let extra = uri.path() != "/" || uri.query().is_some() || authority.contains('@');
        if uri.port_u16().is_none() || extra {
            return Err(not_a_target(text));
        }
        Ok(Self { local: is_loopback(host), encrypted: scheme == "https", endpoint: Endpoint::from(uri) })
    }

    fn of_socket(text: &str, encrypted: bool) -> Result<Self, Error> {
        if encrypted {
            return Err(Error::Invalid("a Unix socket needs no TLS: it doesn't leave this machine".into()));
        }
        let endpoint = Endpoint::from_shared(text.to_owned()).map_err(|_| not_a_target(text))?;
        Ok(Self { endpoint, encrypted, local: true })
    }
}

fn scheme_of(text: &str, encrypted: bool) -> Result<(&'static str, &str), Error> {
    let by_caller = if encrypted { "https" } else { "http" };
    if let Some(authority) = text.strip_prefix("https://") {
        return Ok(("https", authority));
    }
    match text.strip_prefix("http://") {
        Some(_) if encrypted => Err(Error::Invalid("http:// is in the clear, but TLS was asked for".into())),
        Some(authority) => Ok(("http", authority)),
        None => Ok((by_caller, text.strip_prefix("dns:///").unwrap_or(text))),
    }
}

fn not_a_target(text: &str) -> Error {
    Error::Invalid(format!("{text:?} is no target: host:port, https://host:port or unix:/path"))
}

fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_and_sockets_are_local() {
        let targets = [
            "127.0.0.1:1",
            "127.9.9.9:1",
            "localhost:1",
            "LOCALHOST:1",
            "[::1]:1",
            "dns:///localhost:1",
            "http://127.0.0.1:1",
            "unix:/run/memory.sock",
            "unix:///run/memory.sock",
        ];
        for text in targets {
            assert!(Target::parse(text, false).unwrap().local, "{text}");
        }
    }

    #[test]
    fn anything_else_is_not() {
        let targets = [
            "memory.internal:1",
            "10.0.0.7:1",
            "0.0.0.0:1",
            "[fd00::1]:1",
            "dns:///memory:1",
            "localhost.evil.example:1",
            "127.0.0.1.evil.example:1",
            "http://memory:1",
        ];
        for text in targets {
            assert!(!Target::parse(text, false).unwrap().local, "{text}");
        }
    }

    #[test]
    fn what_names_no_host_and_port_is_refused() {
        let texts = [
            "",
            "memory",
            ":1",
            "memory:",
            "memory:x",
            "memory:70000",
            "http://memory:1/path",
            "memory:1?x",
            "localhost@evil.example:1",
            "dns://127.0.0.1/memory:1",
            "xds:///memory:1",
            "ipv4:127.0.0.1:1,10.0.0.7:1",
            "two words:1",
        ];
        for text in texts {
            assert!(matches!(Target::parse(text, false), Err(Error::Invalid(_))), "{text:?} passed");
        }
    }

    #[test]
    fn the_scheme_says_whether_it_is_encrypted() {
        assert!(Target::parse("https://memory:1", false).unwrap().encrypted);
        assert!(Target::parse("memory:1", true).unwrap().encrypted);
        assert!(!Target::parse("memory:1", false).unwrap().encrypted);
        assert!(Target::parse("http://memory:1", true).is_err());
        assert!(Target::parse("unix:/run/memory.sock", true).is_err());
    }
}
