//! Every rule has its page, and the page agrees with the catalogue.

use leaseproof_model::rule;
use leaseproof_report::explain;

#[test]
fn every_rule_has_a_whole_page_ok() {
    for rule in rule::ALL {
        let page = explain::page(rule.code).unwrap_or_else(|| panic!("{} has no page", rule.code));
        let mut lines = page.lines();
        assert_eq!(lines.next(), Some(format!("# {} {}", rule.code, rule.name).as_str()));
        let class = serde_json::to_value(rule.class).unwrap();
        let class = format!("Class: {}. ", class.as_str().unwrap());
        let stated = page
            .lines()
            .find(|line| line.starts_with("Class: "))
            .expect("it states its class");
        assert!(stated.starts_with(&class), "{}: {stated:?} is not {class:?}", rule.code);
        assert!(
            page.to_lowercase()
                .replace('\n', " ")
                .contains(&rule.says.to_lowercase()),
            "{} does not say its rule",
            rule.code
        );
        let mut last = 0;
        for heading in explain::SECTIONS {
            let at = page
                .find(&format!("\n## {heading}\n"))
                .unwrap_or_else(|| panic!("{}: no {heading}", rule.code));
            assert!(at > last, "{}: {heading} is out of order", rule.code);
            last = at;
            let text = explain::section(rule.code, heading).unwrap();
            assert!(text.len() > 40, "{}: {heading} says nothing", rule.code);
        }
        assert!(
            page.lines().all(|line| line.chars().count() <= 120),
            "{}: a line is too long",
            rule.code
        );
    }
}

#[test]
fn pages_name_only_rules_that_exist_ok() {
    for page in rule::ALL.iter().filter_map(|it| explain::page(it.code)) {
        for word in page.split(|c: char| !c.is_ascii_alphanumeric()) {
            if word.len() == 5 && word.starts_with("LP") {
                assert!(rule::find(word).is_some(), "{word} is no rule");
            }
        }
    }
}

#[test]
fn a_page_is_found_by_code_and_name_in_any_case_ok() {
    assert_eq!(explain::page("lp004"), explain::page("Silent-Retention"));
    assert!(explain::page("lp004").is_some());
}

#[test]
fn an_unknown_code_has_no_page_bad() {
    assert_eq!(explain::page("LP000"), None);
    assert_eq!(explain::section("LP004", "What to dream"), None);
}

#[test]
fn the_list_names_all_ok() {
    let list = explain::list();
    for rule in rule::ALL {
        assert!(
            list.lines()
                .any(|line| line.starts_with(rule.code) && line.contains(rule.name))
        );
    }
}
