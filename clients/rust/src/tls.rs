//! What an encrypted connection trusts and shows.

use std::fs;
use std::io;
use std::path::Path;

use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

use crate::Error;

/// How to encrypt: whom to trust, and the certificate to show where the server asks for one.
///
/// PEM is read once; a rotated certificate needs a new client.
#[derive(Clone, Debug, Default)]
pub struct Tls {
    authorities: Vec<Certificate>,
    identity: Option<Identity>,
    server_name: Option<String>,
}

impl Tls {
    /// Trusts the system's authorities and shows no certificate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Trusts the authorities of this PEM, and those of other such calls, instead of the system's.
    #[must_use]
    pub fn authority(mut self, pem: impl AsRef<[u8]>) -> Self {
        self.authorities.push(Certificate::from_pem(pem));
        self
    }

    /// [`Tls::authority`] of a file.
    ///
    /// # Errors
    ///
    /// The file can't be read.
    pub fn authority_file(self, path: impl AsRef<Path>) -> io::Result<Self> {
        Ok(self.authority(fs::read(path)?))
    }

    /// Shows this certificate, with its issuers, and proves it with its key: mutual TLS.
    #[must_use]
    pub fn identity(mut self, certificate_pem: impl AsRef<[u8]>, key_pem: impl AsRef<[u8]>) -> Self {
        self.identity = Some(Identity::from_pem(certificate_pem, key_pem));
        self
    }

    /// [`Tls::identity`] of two files.
    ///
    /// # Errors
    ///
    /// A file can't be read.
    pub fn identity_files(self, certificate: impl AsRef<Path>, key: impl AsRef<Path>) -> io::Result<Self> {
        Ok(self.identity(fs::read(certificate)?, fs::read(key)?))
    }

    /// Expects this name in the server's certificate instead of the target's host.
    #[must_use]
    pub fn server_name(mut self, name: impl Into<String>) -> Self {
        self.server_name = Some(name.into());
        self
    }

    pub(crate) fn apply(self, endpoint: Endpoint) -> Result<Endpoint, Error> {
        let mut config = ClientTlsConfig::new();
        config = match self.authorities.is_empty() {
            true => config.with_native_roots(),
            false => config.ca_certificates(self.authorities),
        };
        if let Some(identity) = self.identity {
            config = config.identity(identity);
        }
        if let Some(name) = self.server_name {
            config = config.domain_name(name);
        }
        endpoint.tls_config(config).map_err(|error| Error::Invalid(format!("TLS can't be set up: {}", told(&error))))
    }
}

/// The whole chain of causes: the outermost alone says no more than "transport error".
fn told(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_pem_shows_when_the_client_is_made() {
        let endpoint = || Endpoint::from_static("https://memory:1");
        let half = Tls::new().authority("").identity("no certificate", "no key");
        assert!(matches!(half.apply(endpoint()), Err(Error::Invalid(_))));
        assert!(Tls::new().authority_file("/nowhere/ca.pem").is_err());
        assert!(Tls::new().identity_files("/nowhere/cert.pem", "/nowhere/key.pem").is_err());
    }
}
