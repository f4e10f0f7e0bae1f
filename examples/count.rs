// What a part of a program executes, counted by the program itself. rustc -O count.rs
// The crate perf-event does the same: Builder::new().kind(Hardware::INSTRUCTIONS).build(), enable(), disable(), read().
use std::{fs::File, io::Read, os::unix::io::FromRawFd};

extern "C" {
    fn syscall(number: i64, ...) -> i64;
    fn ioctl(fd: i32, request: u64, ...) -> i32;
}
const PERF_EVENT_OPEN: i64 = 298; // of x86-64
const ENABLE: u64 = 0x2400;
const DISABLE: u64 = 0x2401;

fn main() -> std::io::Result<()> {
    let mut attr = [0u64; 16];
    attr[0] = 128 << 32; // size; type 0: PERF_TYPE_HARDWARE
    attr[1] = 1; // PERF_COUNT_HW_INSTRUCTIONS
    attr[5] = 1 | 1 << 5; // disabled, exclude_kernel
    let fd = unsafe { syscall(PERF_EVENT_OPEN, attr.as_ptr(), 0, -1, -1, 0) } as i32;
    if fd < 0 {
        return Err(std::io::Error::last_os_error());
    }
    let mut count = [0u8; 8];
    unsafe { ioctl(fd, ENABLE, 0) };
    let sum = (0..100000u64).fold(0, |a, i| unsafe { std::ptr::read_volatile(&(a + i)) });
    unsafe { ioctl(fd, DISABLE, 0) };
    unsafe { File::from_raw_fd(fd) }.read_exact(&mut count)?;
    println!("{} instructions, sum {}", u64::from_le_bytes(count), sum);
    Ok(())
}
