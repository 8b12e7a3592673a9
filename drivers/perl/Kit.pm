# The harness's side of every driver in Perl: replies to commands, and lets processes send the requests.
package Kit;

use strict;
use warnings;
use Cpanel::JSON::XS ();
use Crew;

my $json = Cpanel::JSON::XS->new->canonical;

# Replies to commands until `bye` or the end of the input. `$sender->($job)` returns what requests one URL.
sub run {
    my ($sender, %about) = @_;
    my %hello = (
        proto => 2, runtime => sprintf('perl %vd', $^V), http => ['1.1'], tls => \1, models => ['processes'],
        keepalive => [\1, \0], max_concurrency => 200, cores => 1, verify => [qw(tail json none)],
        methods => [qw(GET HEAD POST PUT PATCH DELETE OPTIONS)], %about,
    );
    my $crew;
    $SIG{TERM} = sub { exit };
    $| = 1;
    while (defined(my $line = <STDIN>)) {
        my $command = $json->decode($line);
        my $cmd = $command->{cmd};
        my %reply = (ok => \1);
        if ($cmd eq 'hello') {
            %reply = (%reply, %hello);
        } elsif ($cmd eq 'prepare') {
            undef $crew; # ends the processes, and so closes their connections
            $crew = Crew->new($command, $sender);
        } elsif ($cmd eq 'go') {
            %reply = (%reply, $crew->go($command));
        } elsif ($cmd eq 'bye') {
            undef $crew;
        } else {
            %reply = (ok => \0, error => 'unsupported', what => $cmd);
        }
        print $json->encode({ id => $command->{id}, %reply }), "\n";
        last if $cmd eq 'bye';
    }
    return;
}

1;
