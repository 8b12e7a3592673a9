//! Requests of `object_store`, sent by the engine.

use std::fmt;
use std::pin::Pin;

use hecaton::{Client, Kind, Request};
use http_body_util::BodyExt;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};

/// The engine as `object_store` has a client.
#[derive(Clone)]
pub(super) struct Engine(Client);

impl Engine {
    pub fn new(client: Client) -> Engine {
        Engine(client)
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Engine")
    }
}

impl HttpConnector for Engine {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

/// The future of a call, in the shape that `async_trait` requires.
type Calling<'a> = Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'a>>;

impl HttpService for Engine {
    fn call<'a, 'b>(&'a self, request: HttpRequest) -> Calling<'b>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            let sent = prepared(&head, body).map_err(|error| other(error.to_string()))?;
            let response = self.0.send(sent).await.map_err(|error| failed(&error))?;
            let mut built = http::Response::builder().status(response.status());
            for (name, value) in response.headers() {
                built = built.header(name, value);
            }
            let built = built.body(response.into_body().into());
            built.map_err(|error| other(error.to_string()))
        })
    }
}

fn prepared(
    head: &http::request::Parts,
    body: bytes::Bytes,
) -> Result<Request, hecaton::InvalidRequest> {
    let mut request = Request::new(head.method.as_str(), &head.uri.to_string())?;
    for (name, value) in &head.headers {
        // The engine says the length of a body itself.
        if name != http::header::CONTENT_LENGTH {
            request = request.header(name.as_str(), value.as_bytes())?;
        }
    }
    Ok(
        match body.is_empty()
            && head.method != http::Method::PUT
            && head.method != http::Method::POST
        {
            true => request,
            false => request.body(body),
        },
    )
}

fn other(text: String) -> HttpError {
    HttpError::new_boxed(HttpErrorKind::Unknown, text.into())
}

/// The kind says whether `object_store` may send the request again.
fn failed(error: &hecaton::Error) -> HttpError {
    let kind = match error.kind() {
        _ if !error.sent() => HttpErrorKind::Connect,
        Kind::Timeout => HttpErrorKind::Timeout,
        _ => HttpErrorKind::Interrupted,
    };
    HttpError::new_boxed(kind, error.to_string().into())
}
