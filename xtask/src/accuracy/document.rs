//! What `diagnose --json` prints, as far as it is scored. Read leniently: another field more is no reason to fail.

use serde::Deserialize;

/// A document of the schema `leaseproof.diagnosis/1`.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Diagnosis {
    #[serde(default)]
    pub schema: String,
    #[serde(default)]
    pub verdict: String,
    /// On which side the first cause lies, where a cause does not say it itself.
    #[serde(default)]
    pub boundary: Option<String>,
    #[serde(default)]
    pub causes: Vec<Cause>,
}

/// One cause.
#[derive(Clone, Debug, Deserialize)]
pub struct Cause {
    pub rule: String,
    #[serde(default)]
    pub rank: Option<u32>,
    #[serde(default)]
    pub confidence: String,
    #[serde(default)]
    pub boundary: Option<String>,
}

impl Diagnosis {
    /// Reads one.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(text: &[u8]) -> Result<Self, String> {
        let mut read: Self = serde_json::from_slice(text).map_err(|error| format!("no document: {error}"))?;
        if read.schema != "leaseproof.diagnosis/1" {
            return Err(format!("the schema is {:?}, not leaseproof.diagnosis/1", read.schema));
        }
        // As they are ranked; where nothing says the rank, as they stand.
        read.causes.sort_by_key(|cause| cause.rank.unwrap_or(u32::MAX));
        Ok(read)
    }

    /// The boundary of one of its causes.
    pub fn boundary_of<'a>(&'a self, cause: &'a Cause) -> &'a str {
        cause
            .boundary
            .as_deref()
            .or(self.boundary.as_deref())
            .unwrap_or_default()
    }
}
