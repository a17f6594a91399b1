//! A document's history, page by page.

use std::pin::Pin;

use async_stream::try_stream;
use futures_core::Stream;

use crate::v1::{DocumentVersion, ListVersionsRequest};
use crate::{Call, Error};

/// The versions of a document, newest first. It ends with the first error.
pub type VersionStream = Pin<Box<dyn Stream<Item = Result<DocumentVersion, Error>> + Send>>;

impl Call<ListVersionsRequest> {
    /// Versions a page, at most 1,000; 0 is the service's default.
    pub fn page_size(mut self, size: i32) -> Self {
        self.request.page_size = size;
        self
    }

    /// Goes on after an earlier page: its `next_page_token`.
    pub fn page_token(mut self, token: impl Into<String>) -> Self {
        self.request.page_token = token.into();
        self
    }

    /// All versions, fetched page by page as they are asked for; the deadline is for each page.
    pub fn stream(self) -> VersionStream {
        let mut call = self;
        Box::pin(try_stream! {
            loop {
                let page = call.clone().await?;
                for version in page.versions {
                    yield version;
                }
                if page.next_page_token.is_empty() {
                    break;
                }
                call = call.page_token(page.next_page_token);
            }
        })
    }
}
