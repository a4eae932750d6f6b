/// What the address sanitizer does here, where it is built in. Threads of a kernel that failed are left where they are,
/// with what they hold: those are no leaks.

extern "C" char const* __asan_default_options();
extern "C" char const* __asan_default_options() { return "detect_leaks=0"; }
