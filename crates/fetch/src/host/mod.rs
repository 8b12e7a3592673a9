//! Hosts, for now.

/// A canonical host and whether it is someone else's.
pub struct Place {
    /// Its name.
    pub host: String,
    /// Whether it is neither of this machine nor of a private network.
    pub foreign: bool,
}

/// Where a URL leads.
pub fn of(url: &str) -> Result<Place, String> {
    let url = url::Url::parse(url).map_err(|e| e.to_string())?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("is neither http nor https".into());
    }
    let host = url.host().ok_or("has no host")?;
    let foreign = match &host {
        url::Host::Domain(name) => {
            *name != "localhost" && !name.ends_with(".localhost") && !name.ends_with(".test")
        }
        url::Host::Ipv4(a) => !(a.is_loopback() || a.is_private() || a.is_link_local()),
        url::Host::Ipv6(a) => {
            !(a.is_loopback() || a.is_unique_local() || a.is_unicast_link_local())
        }
    };
    let host = match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_string(),
    };
    Ok(Place { host, foreign })
}
