# The processes that send the requests of a driver in Perl. They take ids from one pipe, and each reports through its own.
package Crew;

use strict;
use warnings;
use Cpanel::JSON::XS ();
use Round;

my $json = Cpanel::JSON::XS->new;
my $SIZE = 8; # bytes of an id in the pipe
my $END = pack 'Q', 0;

sub new {
    my ($class, $job, $sender) = @_;
    my $self = bless { workers => [] }, $class;
    pipe my $taken, $self->{ids} or die "pipe: $!";
    push @{ $self->{workers} }, $self->_worker($job, $sender, $taken) for 1 .. $job->{concurrency};
    return $self;
}

# Hands out the ids, then one end for each process, and adds up what they report.
sub go {
    my ($self, $go) = @_;
    my $line = $json->encode($go) . "\n";
    _write($_->{orders}, $line) for @{ $self->{workers} };
    my $last = $go->{first} + $go->{count} - 1;
    for (my $id = $go->{first}; $id <= $last; $id += 512) {
        _write($self->{ids}, pack 'Q*', $id .. ($id + 511 < $last ? $id + 511 : $last));
    }
    _write($self->{ids}, $END x @{ $self->{workers} });
    return Round::total(map { $json->decode(scalar readline $_->{reports}) } @{ $self->{workers} });
}

sub _worker {
    my ($self, $job, $sender, $taken) = @_;
    pipe my $orders_in, my $orders or die "pipe: $!";
    pipe my $reports, my $reports_out or die "pipe: $!";
    my $pid = fork // die "fork: $!";
    return { pid => $pid, orders => $orders, reports => $reports } if $pid;

    # Ends of pipes that are open here would keep the others from seeing the end.
    close $_ for \*STDIN, $orders, $reports, $self->{ids}, map { @$_{qw(orders reports)} } @{ $self->{workers} };
    $SIG{TERM} = 'DEFAULT';
    my $send = $sender->($job);
    while (defined(my $line = readline $orders_in)) {
        my $round = Round->new($job, $json->decode($line));
        my $id;
        while (sysread($taken, $id, $SIZE) && $id ne $END) {
            $round->count(unpack('Q', $id), $send);
        }
        _write($reports_out, $json->encode($round->report) . "\n");
    }
    require POSIX;
    POSIX::_exit(0);
}

sub _write {
    my ($pipe, $bytes) = @_;
    while (length $bytes) {
        my $written = syswrite($pipe, $bytes) // die "write: $!";
        substr $bytes, 0, $written, '';
    }
    return;
}

# A process ends when its orders do.
sub DESTROY {
    my ($self) = @_;
    local $?;
    close $_->{orders} for @{ $self->{workers} };
    waitpid $_->{pid}, 0 for @{ $self->{workers} };
    return;
}

1;
