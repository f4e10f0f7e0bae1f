# Perl: regular expressions, sorting, fork, string evaluation.
command -v perl >/dev/null || { echo "no perl"; exit 77; }
$RUN perl -e '
my %h; $h{$_ % 97} += $_ for 1..20000;
print join(",", map { "$_=$h{$_}" } (sort { $a <=> $b } keys %h)[0..5]), "\n";
my $s = "abc" x 1000; my $n = () = $s =~ /b(?=c)/g; print "$n\n";
my $pid = fork; if (!$pid) { exit 9 } waitpid $pid, 0; print $? >> 8, "\n";
print eval("2**10"), " ", `echo child`, sprintf("%.3f\n", atan2(1,1)*4);
$SIG{ALRM} = sub { print "alarm\n"; }; alarm 1; select(undef,undef,undef,3); print "end\n";'
