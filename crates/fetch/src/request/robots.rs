//! The User-Agent that each host gets, and the name by which its robots.txt knows the robot.

use std::collections::BTreeSet;

use hecaton::Request;

use crate::error::{Error, Result};
use crate::host::HostNames;
use crate::job::{Job, reveal, split_header};
use crate::robots::{is_name, name_of};

/// The name of a robot whose User-Agent names none.
const USUAL: &str = "hecaton";

/// The header that names the robot.
const HEADER: &str = "User-Agent";

/// The names of a job's robot, by host.
pub struct Naming {
    usual: Named,
    hosts: HostNames,
    own: Vec<Option<Named>>,
}

struct Named {
    /// The User-Agent, if headers of the job or of the host set it.
    user_agent: Option<String>,
    robot: String,
}

impl Naming {
    /// The names in a job.
    ///
    /// # Errors
    /// When a name is none, or the User-Agent of a job that obeys robots.txt differs by input.
    pub fn new(job: &Job) -> Result<Naming> {
        let name = job.pace.robots_name.as_deref();
        if let Some(name) = name.filter(|name| !is_name(name)) {
            return Err(Error::usage(format!(
                "robots_name is {name:?}: use letters, digits, - and _, as in ExampleBot"
            )));
        }
        let of_job = user_agent(&job.request.headers)?;
        let differs = of_job.as_ref().is_some_and(|text| text.contains('{'));
        if differs && job.pace.robots && name.is_none() {
            return Err(Error::usage(
                "the User-Agent differs by input, and robots.txt is obeyed under one name: give it with --robots-name",
            ));
        }
        let of_job = of_job.filter(|_| !differs);
        let named = |user_agent: Option<String>| Named {
            robot: robot(
                name,
                user_agent.as_deref().or(job.network.user_agent.as_deref()),
            ),
            user_agent,
        };
        let mut own = Vec::new();
        for host in job.hosts.values() {
            own.push(user_agent(&host.headers)?.map(|user_agent| named(Some(user_agent))));
        }
        Ok(Naming {
            usual: named(of_job),
            hosts: HostNames::new(&job.hosts)?,
            own,
        })
    }

    /// The name that holds at a host.
    pub fn of(&self, host: &str) -> &str {
        let own = self
            .hosts
            .of(host)
            .and_then(|index| self.own[index].as_ref());
        &own.unwrap_or(&self.usual).robot
    }

    /// All names.
    pub fn all(&self) -> BTreeSet<&str> {
        let own = self.own.iter().flatten();
        own.chain([&self.usual])
            .map(|named| &*named.robot)
            .collect()
    }

    /// The request for a robots.txt, with the User-Agent of its host.
    ///
    /// # Errors
    /// Why it cannot be sent.
    pub fn request(&self, url: &str) -> std::result::Result<Request, String> {
        let refused = |error: hecaton::InvalidRequest| error.to_string();
        let request = Request::get(url).map_err(refused)?;
        let own = self
            .hosts
            .of_url(url)
            .and_then(|index| self.own[index].as_ref());
        match &own.unwrap_or(&self.usual).user_agent {
            Some(user_agent) => request
                .header(HEADER, user_agent.as_bytes())
                .map_err(refused),
            None => Ok(request),
        }
    }
}

/// The User-Agent that these headers set.
fn user_agent(headers: &[String]) -> Result<Option<String>> {
    for header in headers {
        let (name, value) = split_header(header)?;
        if name.eq_ignore_ascii_case(HEADER) {
            return reveal(value).map(Some);
        }
    }
    Ok(None)
}

fn robot(name: Option<&str>, user_agent: Option<&str>) -> String {
    let named = name.or_else(|| user_agent.and_then(name_of));
    named.unwrap_or(USUAL).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::HostSettings;

    #[test]
    fn the_robot_is_named_by_the_user_agent_that_is_sent() {
        let names = |job: &Job| {
            let naming = Naming::new(job).unwrap();
            [
                naming.of("a.example").to_owned(),
                naming.of("own.example").to_owned(),
            ]
        };
        let mut job = Job::default();
        job.pace.robots = true;
        assert_eq!(names(&job), ["hecaton", "hecaton"]);
        job.network.user_agent = Some("Mozilla/5.0 (compatible; ExampleBot/1.2; +x)".into());
        assert_eq!(names(&job), ["ExampleBot", "ExampleBot"]);
        job.request.headers = vec!["user-agent: FromHeader/3".into()];
        let own = HostSettings {
            headers: vec!["User-Agent: Own".into()],
            ..HostSettings::default()
        };
        job.hosts.insert("own.example".into(), own);
        assert_eq!(names(&job), ["FromHeader", "Own"]);
        let naming = Naming::new(&job).unwrap();
        assert_eq!(
            naming.all().into_iter().collect::<Vec<_>>(),
            ["FromHeader", "Own"]
        );
        job.pace.robots_name = Some("Given".into());
        assert_eq!(names(&job), ["Given", "Given"]);
        job.request.headers = vec!["User-Agent: {agent}".into()];
        assert_eq!(names(&job), ["Given", "Given"]);
        job.pace.robots_name = None;
        assert!(Naming::new(&job).is_err());
        job.pace.robots_name = Some("Given/1".into());
        assert!(Naming::new(&job).is_err());
    }
}
