//! How far a client reaches: the public network, and what a person has configured.

use super::WebError;
use super::address::{self, Class};
use super::target::Target;

/// What may be reached.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    /// A host that a person has configured
    host: Option<String>,
    /// It may lie on this machine or in a private network
    inside: bool,
    /// Addresses like that of the host are open too, at any port
    near: Option<Class>,
}

impl Reach {
    /// Public addresses at the ports of the web.
    pub fn public() -> Self {
        Reach::default()
    }

    /// Besides, the host of this URL, which a person has configured: at any port, and on this
    /// machine or in a private network if that is what it says. A name that anybody can have is
    /// public: where it leads may change from one moment to the next.
    pub fn with(url: &str) -> Result<Self, WebError> {
        let target = Target::parse(url)?;
        Ok(Reach {
            inside: target.address.is_some() || target.is_inside(),
            host: Some(target.host),
            near: None,
        })
    }

    /// The same, for a host that a person has said to be inside, whatever its name.
    #[must_use]
    pub fn inside_if(mut self, inside: bool) -> Self {
        self.inside |= inside;
        self
    }

    /// Besides, what is as near as the host of this URL: whoever configured a server on this
    /// machine may log in at one on this machine.
    pub fn near(url: &str) -> Result<Self, WebError> {
        let target = Target::parse(url)?;
        let inside = target.address.is_some() || target.is_inside();
        let class = target.address.map(address::class);
        let loopback = target.host == "localhost" || target.host.ends_with(".localhost");
        let near = match class {
            _ if loopback => Some(Class::Loopback),
            Some(class @ (Class::Loopback | Class::Private)) => Some(class),
            _ => None,
        };
        Ok(Reach {
            host: Some(target.host),
            inside,
            near,
        })
    }

    pub(super) fn chose(&self, host: &str) -> bool {
        self.host.as_deref() == Some(host)
    }

    pub(super) fn is_near(&self) -> bool {
        self.near.is_some()
    }

    pub(super) fn names_inside(&self, host: &str) -> bool {
        let loopback = host == "localhost" || host.ends_with(".localhost");
        self.chose(host) || (loopback && self.near == Some(Class::Loopback))
    }

    pub(super) fn permits(&self, host: &str, class: Class) -> bool {
        match class {
            Class::Public => true,
            Class::Loopback | Class::Private | Class::Own => {
                (self.inside && self.chose(host)) || self.near == Some(class)
            }
            Class::Metadata | Class::LinkLocal | Class::Reserved => false,
        }
    }
}
