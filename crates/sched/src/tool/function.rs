//! Tools made from a function.

use std::future::Future;

use futures_core::future::BoxFuture;
use serde_json::Value;

use super::{Preview, Tool, Work};
use crate::access::Access;
use crate::call::{Checked, Ended, Kind, Output};
use crate::policy::Subject;

/// Makes a tool of this name from a function; its arguments must match this JSON Schema.
///
/// The policy asks a person before each call, unless a rule allows it or the tool is
/// [harmless](ToolFn::harmless). The tool conflicts with no other call, unless [`ToolFn::access`]
/// says what it reads and writes.
///
/// The function returns a `Result` with a text or an [`Output`], or an error message; or an
/// [`Ended`], if a failed or stopped call has output to keep.
pub fn tool_fn<F, R, T>(name: impl Into<String>, schema: Value, run: F) -> ToolFn<F>
where
    F: Fn(Value, Work) -> R + Send + Sync,
    R: Future<Output = T> + Send + 'static,
    T: Into<Ended>,
{
    ToolFn {
        name: name.into(),
        description: String::new(),
        schema,
        is_harmless: false,
        access: Access::none(),
        run,
    }
}

/// A tool made from a function. See [`tool_fn`].
pub struct ToolFn<F> {
    name: String,
    description: String,
    schema: Value,
    is_harmless: bool,
    access: Access,
    run: F,
}

impl<F> ToolFn<F> {
    /// Sets the description, for models.
    #[must_use]
    pub fn describe(self, description: impl Into<String>) -> Self {
        Self { description: description.into(), ..self }
    }

    /// Says that the tool changes nothing: it is allowed unless a rule says otherwise.
    #[must_use]
    pub fn harmless(self) -> Self {
        Self { is_harmless: true, ..self }
    }

    /// Sets what each call reads and writes.
    #[must_use]
    pub fn access(self, access: Access) -> Self {
        Self { access, ..self }
    }
}

impl<F, R, T> Tool for ToolFn<F>
where
    F: Fn(Value, Work) -> R + Send + Sync,
    R: Future<Output = T> + Send + 'static,
    T: Into<Ended>,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn check(&self, arguments: &Value) -> Result<Checked, String> {
        let fields = arguments.as_object().into_iter().flatten();
        let texts = fields.filter_map(|(name, it)| Some((name.clone(), it.as_str()?.to_owned())));
        let subject = Subject {
            tool: self.name.clone(),
            harmless: self.is_harmless,
            arguments: texts.collect(),
            ..Subject::default()
        };
        Ok(Checked { access: self.access.clone(), kind: Kind::OTHER, subject })
    }

    fn preview(&self, arguments: &Value) -> Preview {
        Preview { what: format!("{} {arguments}", self.name), ..Preview::default() }
    }

    fn run(&self, arguments: Value, work: Work) -> BoxFuture<'static, Ended> {
        let running = (self.run)(arguments, work);
        Box::pin(async move { running.await.into() })
    }
}

impl<T: Into<Output>> From<Result<T, String>> for Ended {
    fn from(result: Result<T, String>) -> Self {
        match result {
            Ok(output) => Self::Well(output.into()),
            Err(what) => Self::Badly { what, output: Output::default() },
        }
    }
}
