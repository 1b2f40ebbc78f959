// The Rust target: frames without frame pointers, closures, generics, a caught panic, Drop during unwinding.
use std::ffi::{c_char, c_uint, CString};
use std::hint::black_box;
use std::panic;

extern "C" {
    fn stack_enter(function: *const c_char) -> c_uint;
    fn stack_leave(depth: c_uint);
    fn stack_launch(kernel: *const c_char);
}

// Puts a function on the shadow stack, and removes it however the function ends. Names live as long as the program.
struct Scope(c_uint);

fn leaked(text: &str) -> *const c_char {
    CString::new(text).unwrap().into_raw()
}

impl Scope {
    fn new(function: &str) -> Scope {
        Scope(unsafe { stack_enter(leaked(function)) })
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        unsafe { stack_leave(self.0) }
    }
}

fn launch(kernel: &str) {
    unsafe { stack_launch(leaked(kernel)) }
}

#[no_mangle]
#[inline(never)]
pub extern "C" fn rust_recursion(left: u64) -> u64 {
    let _scope = Scope::new("rust_recursion");
    let block = black_box([left; 37]);
    let result = if left > 0 {
        rust_recursion(left - 1) + block[3]
    } else {
        launch("rust_recursion");
        block[7]
    };
    black_box(result)
}

#[no_mangle]
#[inline(never)]
pub extern "C" fn rust_with_closure(count: u64) -> u64 {
    let _scope = Scope::new("rust_with_closure");
    let values: Vec<u64> = (0..count).collect();
    let sum = values.iter().map(|value| rust_recursion(*value)).sum();
    black_box(sum)
}

struct Launcher(c_uint);

#[no_mangle]
#[inline(never)]
pub extern "C" fn rust_dropped(depth: c_uint) {
    unsafe { stack_leave(depth) } // also leaves the functions that the panic has ended
    let others = Scope::new("*"); // frames of drop glue
    let scope = Scope::new("rust_dropped");
    launch("rust_drop_in_panic");
    drop(scope);
    drop(others);
}

impl Drop for Launcher {
    #[inline(never)]
    fn drop(&mut self) {
        rust_dropped(self.0);
    }
}

#[no_mangle]
#[inline(never)]
pub extern "C-unwind" fn rust_panicking(left: u64) -> u64 {
    let _scope = Scope::new("rust_panicking");
    if left == 0 {
        panic!("on purpose");
    }
    black_box(rust_panicking(left - 1) + 1)
}

#[no_mangle]
#[inline(never)]
pub extern "C-unwind" fn rust_unwound() -> u64 {
    let scope = Scope::new("rust_unwound");
    let _launcher = Launcher(scope.0 + 1);
    black_box(rust_panicking(black_box(5)) + 1)
}

#[no_mangle]
#[inline(never)]
pub extern "C" fn rust_catching() {
    let scope = Scope::new("rust_catching");
    panic::set_hook(Box::new(|_| {}));
    let others = Scope::new("*");
    let _ = panic::catch_unwind(|| rust_unwound());
    drop(others);
    unsafe { stack_leave(scope.0 + 1) }
    launch("rust_after_catch");
}

fn main() {
    // Rust's main is called by the C function main and the runtime.
    let _outer = Scope::new("main");
    let _runtime = Scope::new("*");
    rust_with_closure(black_box(6));
    rust_catching();
}
