//! Work that may wait for the disk, kept off the threads that run everything else.

use haft_core::ToolError;

/// Run blocking work to its end. It must look at its cancel token itself: dropping the future
/// does not stop it.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => Err(ToolError::failed("the runtime is shutting down").caused_by(error)),
        },
    }
}
