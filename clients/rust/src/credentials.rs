//! How a client proves who it is: an API key or a signed token, sent with every call. A certificate is for `Tls`.

use std::fmt;
use std::sync::Arc;

use tonic::metadata::{Ascii, MetadataMap, MetadataValue};

use crate::Error;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// An API key or a signed token, or what returns the one to send now.
///
/// It isn't shown by `Debug`, and never sent in the clear beyond this machine.
#[derive(Clone)]
pub struct Token(Source);

#[derive(Clone)]
enum Source {
    Fixed(Arc<str>),
    Asked(Arc<dyn Fn() -> Result<String, BoxError> + Send + Sync>),
}

impl Token {
    /// The same token for every call.
    pub fn fixed(token: impl Into<Arc<str>>) -> Self {
        Self(Source::Fixed(token.into()))
    }

    /// What `source` returns, asked once for each call and for each connection of a watch.
    ///
    /// It runs on the caller's task, so it should hand out what is at hand rather than fetch it. An error that it
    /// returns fails the call with [`Error::Token`]; nothing is sent then.
    pub fn from_fn(source: impl Fn() -> Result<String, BoxError> + Send + Sync + 'static) -> Self {
        Self(Source::Asked(Arc::new(source)))
    }

    pub(crate) fn write_to(&self, headers: &mut MetadataMap) -> Result<(), Error> {
        let value = match &self.0 {
            Source::Fixed(token) => bearer(token)?,
            Source::Asked(source) => bearer(&source().map_err(Error::Token)?)?,
        };
        headers.insert("authorization", value);
        Ok(())
    }
}

fn bearer(token: &str) -> Result<MetadataValue<Ascii>, Error> {
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Error::Invalid("a token must be printable ASCII without spaces".into()));
    }
    let mut value: MetadataValue<Ascii> =
        format!("Bearer {token}").parse().map_err(|_| Error::Invalid("a token must fit a header".into()))?;
    value.set_sensitive(true); // keeps it out of debug output and of the connection's header table
    Ok(value)
}

impl From<&str> for Token {
    fn from(token: &str) -> Self {
        Self::fixed(token)
    }
}

impl From<String> for Token {
    fn from(token: String) -> Self {
        Self::fixed(token)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_travels_as_bearer_and_stays_secret() {
        let mut headers = MetadataMap::new();
        Token::from("icm_x").write_to(&mut headers).unwrap();
        assert_eq!(headers.get("authorization").unwrap(), "Bearer icm_x");
        assert!(!format!("{headers:?}").contains("icm_x"));
        assert!(!format!("{:?}", Token::from("icm_x")).contains("icm_x"));
    }

    #[test]
    fn what_is_no_token_is_refused() {
        for token in ["", "a b", "a\nb", "é", "Bearer x"] {
            let refused = Token::from(token).write_to(&mut MetadataMap::new());
            assert!(matches!(refused, Err(Error::Invalid(_))), "{token:?} passed");
        }
    }

    #[test]
    fn the_error_of_a_source_is_kept() {
        let refused = Token::from_fn(|| Err("the vault is closed".into())).write_to(&mut MetadataMap::new());
        assert_eq!(refused.unwrap_err().to_string(), "no token: the vault is closed");
    }
}
