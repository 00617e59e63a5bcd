//! The page of each rule, from `docs/rules/`: what `leaseproof explain CODE` prints.

use leaseproof_model::rule;

macro_rules! pages {
    ($($code:literal),+ $(,)?) => {
        const PAGES: &[(&str, &str)] =
            &[$(($code, include_str!(concat!("../../../docs/rules/", $code, ".md")))),+];
    };
}

pages!(
    "LP001", "LP002", "LP003", "LP004", "LP005", "LP006", "LP007", "LP008", "LP009", "LP010", "LP011", "LP012",
    "LP013", "LP014", "LP015", "LP016", "LP017", "LP018", "LP019", "LP020", "LP021", "LP022", "LP023", "LP024",
    "LP025", "LP026",
);

/// The sections of every page, in order.
pub const SECTIONS: &[&str] = &[
    "What it means",
    "How it shows",
    "What proves it",
    "What to do",
    "What not to do",
];

/// The page of the rule with this code or name, in any case; Markdown that reads well as it is.
#[must_use]
pub fn page(code: &str) -> Option<&'static str> {
    let rule = rule::find(code.trim())?;
    PAGES.iter().find(|(of, _)| *of == rule.code).map(|(_, page)| *page)
}

/// One section of a rule's page, without its heading.
#[must_use]
pub fn section(code: &str, heading: &str) -> Option<&'static str> {
    let page = page(code)?;
    let start = page.find(&format!("\n## {heading}\n"))? + heading.len() + 5;
    let rest = &page[start..];
    Some(rest.find("\n## ").map_or(rest, |end| &rest[..end]).trim())
}

/// All rules, a line each.
#[must_use]
pub fn list() -> String {
    let name_width = rule::ALL.iter().map(|it| it.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for rule in rule::ALL {
        let class = crate::words::class(rule.class);
        text.push_str(&format!(
            "{}  {:name_width$}  {class:12}  {}\n",
            rule.code, rule.name, rule.says
        ));
    }
    text.push_str("\nleaseproof explain CODE prints a rule's page.\n");
    text
}
