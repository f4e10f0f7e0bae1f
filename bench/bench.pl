# Perl: hashes, regular expressions, subroutines.
use strict;
my (%seen, $sum);
sub add { my ($word, $n) = @_; $seen{$word} += $n; return length $word; }
for my $i (1 .. 700000) {
    my $line = "item-" . ($i * 7919 % 4001) . ":" . ($i % 97);
    $sum += add($1, $2) if $line =~ /^item-(\d+):(\d+)$/;
}
print join(",", (sort { $seen{$a} <=> $seen{$b} } keys %seen)[0 .. 3]), " $sum\n";
