//! Our own standard input and output as asynchronous streams. Pipes and sockets are read where
//! they are, without the thread that a terminal or a file needs: half the time for each message.

use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;

use rustix::fs::{FileType, fstat};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{UnixStream, unix::pipe};

pub type Reader = Box<dyn AsyncRead + Send + Unpin>;
pub type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// Standard input and output. To be called inside a runtime, once.
pub fn standard_streams() -> io::Result<(Reader, Writer)> {
    let input = std::io::stdin().as_fd().try_clone_to_owned()?;
    let output = std::io::stdout().as_fd().try_clone_to_owned()?;
    let reader: Reader = match kind(&input)? {
        FileType::Fifo => Box::new(pipe::Receiver::from_owned_fd(input)?),
        FileType::Socket => Box::new(socket(input)?),
        _ => Box::new(tokio::io::stdin()),
    };
    let writer: Writer = match kind(&output)? {
        FileType::Fifo => Box::new(pipe::Sender::from_owned_fd(output)?),
        FileType::Socket => Box::new(socket(output)?),
        _ => Box::new(tokio::io::stdout()),
    };
    Ok((reader, writer))
}

fn kind(fd: &OwnedFd) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(fstat(fd)?.st_mode))
}

fn socket(fd: OwnedFd) -> io::Result<UnixStream> {
    let stream = StdUnixStream::from(fd);
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}

/// A line typed at the terminal that standard input is, without showing it.
pub fn read_silently(prompt: &str) -> io::Result<String> {
    let stdin = io::stdin();
    let before = tcgetattr(&stdin)?;
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    let mut stderr = io::stderr();
    write!(stderr, "{prompt}")?;
    stderr.flush()?;
    tcsetattr(&stdin, OptionalActions::Flush, &silent)?;
    let mut line = String::new();
    let read = stdin.read_line(&mut line);
    tcsetattr(&stdin, OptionalActions::Flush, &before)?;
    writeln!(stderr)?;
    read.map(|_| line)
}
