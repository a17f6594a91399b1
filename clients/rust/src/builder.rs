//! What a client is made with.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tonic::transport::{Channel, Endpoint};

use crate::client::Shared;
use crate::target::Target;
use crate::{Error, MemoryClient, RetryPolicy, Scope, Token};

const USER_AGENT: &str = concat!("ironclaw-memory-client-rust/", env!("CARGO_PKG_VERSION"));
/// TCP's own probes tell a watch that its server is gone without a word; the service neither sees nor counts them.
const TCP_KEEPALIVE: Duration = Duration::from_secs(60);

/// What a client is made with; [`build`](Builder::build) makes it.
#[derive(Clone, Debug)]
#[must_use]
pub struct Builder {
    scope: Scope,
    token: Option<Token>,
    #[cfg(feature = "tls")]
    tls: Option<crate::Tls>,
    deadline: Duration,
    retry: RetryPolicy,
}

impl Builder {
    pub(crate) fn new(scope: Scope) -> Self {
        Self {
            scope,
            token: None,
            #[cfg(feature = "tls")]
            tls: None,
            deadline: Duration::from_secs(10),
            retry: RetryPolicy::default(),
        }
    }

    /// The credential to send with every call: an API key or a signed token, as text or as [`Token::from_fn`].
    pub fn token(mut self, token: impl Into<Token>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// How to encrypt. Without it everything goes in the clear, unless the target begins with `https://`.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, tls: crate::Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// How long one call may take, its tries and the waits between them. Default 10 s.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// How often and how patiently calls are repeated.
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// Makes the client; it connects with the first call.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: the target or the certificates can't be used, the token would travel in the clear beyond this
    /// machine, or there is no Tokio runtime.
    pub fn build(self, target: &str) -> Result<MemoryClient, Error> {
        Handle::try_current().map_err(|_| Error::Invalid("a client needs a Tokio runtime to connect on".into()))?;
        let target = Target::parse(target, self.asks_for_tls())?;
        if self.token.is_some() && !target.encrypted && !target.local {
            let told = "a token would travel in the clear; use TLS, or a target on loopback or a Unix socket";
            return Err(Error::Invalid(told.into()));
        }
        let endpoint = self.secure(target.endpoint, target.encrypted)?;
        let endpoint = endpoint.user_agent(USER_AGENT).map_err(|_| Error::Invalid("no user agent".into()))?;
        let channel = endpoint.tcp_keepalive(Some(TCP_KEEPALIVE)).connect_lazy();
        Ok(self.build_on(channel))
    }

    /// Makes the client on a channel of the caller's, with its own connector, TLS or balancing.
    ///
    /// Whether a token may travel over it is the caller's to see to.
    pub fn build_on(self, channel: Channel) -> MemoryClient {
        let shared = Shared { channel, token: self.token, deadline: self.deadline, retry: self.retry };
        MemoryClient { shared: Arc::new(shared), scope: Arc::new(self.scope) }
    }

    #[cfg(feature = "tls")]
    fn asks_for_tls(&self) -> bool {
        self.tls.is_some()
    }

    #[cfg(not(feature = "tls"))]
    fn asks_for_tls(&self) -> bool {
        false
    }

    #[cfg(feature = "tls")]
    fn secure(&self, endpoint: Endpoint, encrypted: bool) -> Result<Endpoint, Error> {
        if encrypted { self.tls.clone().unwrap_or_default().apply(endpoint) } else { Ok(endpoint) }
    }

    #[cfg(not(feature = "tls"))]
    fn secure(&self, endpoint: Endpoint, encrypted: bool) -> Result<Endpoint, Error> {
        if encrypted {
            return Err(Error::Invalid("https:// needs the crate's feature `tls`".into()));
        }
        Ok(endpoint)
    }
}
