//! The Tidemark controller: estimates, advice, control, console and REST API
