# For the scripts beside it to include. Sources are TypeScript, and a process of the fleet reads some hundred of them: what
# Node makes of a file is kept under its checksum, so that only the first process pays for it. Those it starts inherit this.
# Without a home there is no folder that is ours alone.
caches=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}
[ -z "$caches" ] || export NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE:-$caches/corral/compiled}"
