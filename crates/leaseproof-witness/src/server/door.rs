//! The doors of the resource: where a request goes, and by which method.

/// Where a request goes.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Door {
    Write,
    Value,
    Cache,
}

impl Door {
    pub(super) const ALL: [Self; 3] = [Self::Write, Self::Value, Self::Cache];

    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Write => "/write",
            Self::Value => "/value",
            Self::Cache => "/cache",
        }
    }

    pub(super) fn method(self) -> &'static str {
        match self {
            Self::Write => "POST",
            Self::Value => "GET",
            Self::Cache => "PUT",
        }
    }

    /// What is said to another method.
    pub(super) fn says(self) -> &'static str {
        match self {
            Self::Write => r#"{"error":"a protected write is a POST"}"#,
            Self::Value => r#"{"error":"the value is read by GET"}"#,
            Self::Cache => r#"{"error":"the cache is filled by PUT"}"#,
        }
    }
}
