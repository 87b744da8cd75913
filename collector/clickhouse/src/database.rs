// SPDX-License-Identifier: Apache-2.0
//! The interface through which inserters use a server.

use crate::config::Compression;
use crate::error::CallError;

/// A server as the inserters see it: a [`crate::Client`] or a simulated server.
pub trait Database: Send + Sync {
    /// Name of the database.
    fn name(&self) -> &str;

    /// Creates the database and tables if they are missing.
    ///
    /// # Errors
    /// See [`CallError`].
    fn create_schema(&self) -> Result<(), CallError>;

    /// Executes a statement or a short query with parameters `{name:Type}`;
    /// returns the text of the response.
    ///
    /// # Errors
    /// See [`CallError`].
    fn query(&self, sql: &str, parameters: &[(&str, &str)]) -> Result<String, CallError>;

    /// Inserts one block in the Native format. The server deduplicates by `token`.
    ///
    /// # Errors
    /// See [`CallError`].
    fn insert(
        &self,
        table: &str,
        columns: &str,
        token: &str,
        body: &[u8],
        compression: Compression,
    ) -> Result<(), CallError>;
}
