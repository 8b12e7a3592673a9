# One `go` in one process: sends requests, verifies and counts responses.
package Round;

use strict;
use warnings;
use Cpanel::JSON::XS ();
use List::Util qw(sum0);
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

my $json = Cpanel::JSON::XS->new->utf8;

sub new {
    my ($class, $job, $go) = @_;
    return bless { job => $job, go => $go, done => 0, bytes => 0, sum => 0, errors_by => {}, lat_us => {} }, $class;
}

# Sends the request of an id by `$send`, and counts its outcome.
sub count {
    my ($self, $id, $send) = @_;
    my $job = $self->{job};
    my $taken = clock_gettime(CLOCK_MONOTONIC);
    my ($status, $body) = $send->($job->{append_id} ? $job->{url} . $id : $job->{url});
    my $failure = !defined $status ? $body : $status =~ /^2/ ? undef : "status $status";
    my $value = defined $failure ? undef : $self->_check_value($body);
    return $self->{errors_by}{ $failure // 'check value' }++ unless defined $value;

    $self->{done}++;
    $self->{bytes} += length $body;
    $self->{sum} = $self->{sum} + $value & 0xffffffff;
    return if ($id - $self->{go}{first}) % $self->{go}{lat_every};
    return $self->{lat_us}{ _bucket(int((clock_gettime(CLOCK_MONOTONIC) - $taken) * 1e6)) }++;
}

sub report {
    my ($self) = @_;
    return { map { $_ => $self->{$_} } qw(done bytes sum errors_by lat_us) };
}

# The reports of all processes together, as the reply to `go` has them.
sub total {
    my @reports = @_;
    my %all = map { my $key = $_; $key => sum0(map { $_->{$key} } @reports) } qw(done bytes sum);
    my (%errors_by, %lat_us);
    for my $report (@reports) {
        $errors_by{$_} += $report->{errors_by}{$_} for keys %{ $report->{errors_by} };
        $lat_us{$_} += $report->{lat_us}{$_} for keys %{ $report->{lat_us} };
    }
    return (
        %all, sum => $all{sum} & 0xffffffff, errors => sum0(values %errors_by), errors_by => \%errors_by,
        lat_us => [map { [$_ + 0, $lat_us{$_}] } keys %lat_us],
    );
}

# The check value at the end of a body. For a document, the numbers of all its records are added.
sub _check_value {
    my ($self, $body) = @_;
    my $verify = $self->{job}{verify};
    return 0 if $verify eq 'none';
    return $body =~ /([0-9a-f]{8})\z/ ? hex $1 : undef if $verify eq 'tail';
    my $page = eval { $json->decode($body) } or return;
    return hex($page->{token}) + sum0(map { $_->{numbers} } @{ $page->{records} });
}

# Microseconds to eight significant bits, rounded down.
sub _bucket {
    my ($micros) = @_;
    my $shift = 0;
    $shift++ while $micros >> $shift > 255;
    return $micros >> $shift << $shift;
}

1;
