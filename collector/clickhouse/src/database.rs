// SPDX-License-Identifier: Apache-2.0
//! Interface of a server to the inserters.

use crate::config::Compression;
use crate::error::CallError;

/// A server, as the inserters see it: [`crate::Client`], or a model.
pub trait Database: Send + Sync {
    /// Name of the database.
    fn name(&self) -> &str;

    /// Makes database and tables where they are missing.
    ///
    /// # Errors
    /// See [`CallError`].
    fn create_schema(&self) -> Result<(), CallError>;

    /// Carries out a statement or short query with parameters `{name:Type}`;
    /// returns the answer's text.
    ///
    /// # Errors
    /// See [`CallError`].
    fn query(&self, sql: &str, parameters: &[(&str, &str)]) -> Result<String, CallError>;

    /// Inserts one block of the Native format. The server knows `token` again.
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
