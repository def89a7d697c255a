//! The program `planrun`; its implementation is in the library.

fn main() -> std::process::ExitCode {
    planrun::cli::main()
}
