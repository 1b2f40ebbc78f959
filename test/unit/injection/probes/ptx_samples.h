#pragma once

#include <string>

inline std::string ptx_module(const std::string& kernels) {
  return ".version 8.0\n.target sm_90\n.address_size 64\n" + kernels;
}

// Three kernels with what nvcc writes: comments, a device function, a call, early returns and an indexed jump.
constexpr char kPtxSample[] = R"(//
// Generated
//
.version 8.0
.target sm_90
.address_size 64

.extern .shared .align 16 .b8 dynamic[];
.global .align 4 .b8 table[4] = {1, 2, 3, 4};
.func (.param .b32 func_retval0) twice(
	.param .b32 twice_param_0
)
{
	.reg .b32 %r<3>;
	ld.param.u32 %r1, [twice_param_0];
	add.u32 %r2, %r1, %r1;
	st.param.b32 [func_retval0+0], %r2;
	ret;
}
	// .globl early
.visible .entry early(
	.param .u64 early_param_0,
	.param .align 8 .b8 early_param_1[16]
)
.maxntid 256, 1, 1
{
	.reg .pred %p<3>;
	.reg .b32 %r<6>;
	.reg .b64 %rd<4>;
	.shared .align 4 .b8 tile[1024];

	ld.param.u64 %rd1, [early_param_0];
	ld.param.u32 %r1, [early_param_1+8];
	mov.u32 %r2, %tid.x;
	setp.ge.u32 %p1, %r2, %r1;
	@%p1 bra 	$L__BB1_2;
	bar.sync 	0;
	{ // callseq 0, 0
	.param .b32 param0;
	st.param.b32 [param0+0], %r2;
	.param .b32 retval0;
	call.uni (retval0),
	twice,
	(
	param0
	);
	ld.param.b32 %r3, [retval0+0];
	} // callseq 0
	st.shared.v2.u32 [tile], {%r3, %r2};
	st.u32 [%rd1], %r3;
$L__BB1_2:
	ret;

}
.entry empty()
{
	ret;
}
.weak .entry choose(.param .u64 choose_param_0, .param .u32 choose_param_1, .param .f32 choose_param_2)
{
	.reg .b32 %r<3>;
	.reg .b64 %rd<2>;
	ld.param.u64 %rd1, [choose_param_0];
	ld.param.u32 %r1, [choose_param_1];
$L_targets:
	.branchtargets $L_a, $L_end, $L_b;
	brx.idx %r1, $L_targets;
$L_a:
	st.u32 [%rd1], %r1;
$L_b:
	mov.u32 %r2, dynamic;
	st.u32 [%rd1+4], %r2;
$L_end:
	ret;
}
)";
