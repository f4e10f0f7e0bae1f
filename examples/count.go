// What a part of a program executes, counted by the program itself. go run count.go
package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

const enable, disable = 0x2400, 0x2401 // PERF_EVENT_IOC_...

func main() {
	runtime.LockOSThread() // an event counts a thread
	// size, PERF_COUNT_HW_INSTRUCTIONS, disabled | exclude_kernel
	attr := [16]uint64{0: 128 << 32, 1: 1, 5: 1 | 1<<5}
	any := ^uintptr(0)
	fd, _, err := syscall.Syscall6(syscall.SYS_PERF_EVENT_OPEN, uintptr(unsafe.Pointer(&attr)), 0, any, any, 0, 0)
	if err != 0 {
		fmt.Fprintln(os.Stderr, "perf_event_open:", err)
		os.Exit(1)
	}
	sum := uint64(0)
	syscall.Syscall(syscall.SYS_IOCTL, fd, enable, 0)
	for i := uint64(0); i < 100000; i++ {
		sum += i
	}
	syscall.Syscall(syscall.SYS_IOCTL, fd, disable, 0)
	count := make([]byte, 8)
	syscall.Read(int(fd), count)
	fmt.Println(binary.LittleEndian.Uint64(count), "instructions, sum", sum)
}
