# Sourced by scripts that measure several databases of one cluster as if they were servers: begin PREFIX NAME... makes
# databases PREFIX_NAME and drops them at the end. The connection is that of psql, as superuser over a socket. Linux.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scratch=$(mktemp -d)
export PGOPTIONS="-c client_min_messages=warning${PGOPTIONS:+ $PGOPTIONS}"
# processor time of the session, hundredths of a second
ticks="SELECT split_part(s, ' ', 14)::int + split_part(s, ' ', 15)::int FROM pg_read_file('/proc/self/stat') AS s"

run() { psql -qXAt -v ON_ERROR_STOP=1 -d "$@"; }
each() { local d; for d in $names; do psql -qX -d postgres -c "$(printf "$1" "${prefix}_$d")" 2>/dev/null || [ "${1%% *}" = DROP ]; done; }

begin() {
	prefix=$1
	shift
	names=$*
	trap 'each "DROP DATABASE IF EXISTS %s"; rm -rf "$scratch"' EXIT
	each 'DROP DATABASE IF EXISTS %s'
	each 'CREATE DATABASE %s'
}

# genjob OPTION...: lines of a job that test/bench/genjob.c makes up
genjob() {
	[ -x "$scratch/genjob" ] || ${CC:-cc} -O2 -o "$scratch/genjob" "$here/genjob.c"
	"$scratch/genjob" "$@"
}

# reach FORMAT: how a server reaches itself: host, port, user
reach() {
	run postgres -c "SELECT format('$1', split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'), current_user)"
}
