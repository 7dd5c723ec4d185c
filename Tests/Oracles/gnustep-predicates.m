// Evaluates predicate cases with GNUstep's NSPredicate, an implementation independent of ours.
//
// Reads lines of tokens from standard input, as gnustep-predicates.py writes them:
//     object NAME VALUE
//     case KEY NAME FORMAT ARGUMENTS
// FORMAT and all texts are UTF-8 in hexadecimal. A value is one token, or several for a list or a dictionary:
//     n null, b0 b1 boolean, i5 integer, f2.5 double, m1.50 decimal, s61 text, t1.5 date in seconds since 1970,
//     x00ff data, uTEXT uuid, r61 url, L2 and two values, D2 and two pairs of a text and a value
// Prints "KEY true", "KEY false", "KEY error REASON", "KEY crash SIGNAL" or "KEY timeout" for each case. Each case
// runs in a process of its own, so that a crash ends only that process.
#import <Foundation/Foundation.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { secondsForACase = 5 };

static NSData *bytesOfHexadecimal(const char *text)
{
  NSMutableData *bytes = [NSMutableData data];
  for (unsigned value; sscanf(text, "%2x", &value) == 1; text += 2)
    {
      unsigned char byte = value;
      [bytes appendBytes: &byte length: 1];
    }
  return bytes;
}

static NSString *textOfHexadecimal(const char *text)
{
  return AUTORELEASE([[NSString alloc] initWithData: bytesOfHexadecimal(text) encoding: NSUTF8StringEncoding]);
}

/// Reads the next value from the tokens of the current strtok.
static id nextValue(void)
{
  const char *token = strtok(NULL, " \n");
  if (token == NULL)
    {
      fprintf(stderr, "a value is missing\n");
      exit(2);
    }
  const char *rest = token + 1;
  switch (token[0])
    {
      case 'n': return [NSNull null];
      case 'b': return [NSNumber numberWithBool: rest[0] == '1'];
      case 'i': return [NSNumber numberWithLongLong: strtoll(rest, NULL, 10)];
      case 'f': return [NSNumber numberWithDouble: strtod(rest, NULL)];
      case 'm': return [NSDecimalNumber decimalNumberWithString: [NSString stringWithUTF8String: rest]];
      case 's': return textOfHexadecimal(rest);
      case 't': return [NSDate dateWithTimeIntervalSince1970: strtod(rest, NULL)];
      case 'x': return bytesOfHexadecimal(rest);
      case 'u': return AUTORELEASE([[NSUUID alloc] initWithUUIDString: [NSString stringWithUTF8String: rest]]);
      case 'r': return [NSURL URLWithString: textOfHexadecimal(rest)];
      case 'L':
        {
          NSMutableArray *list = [NSMutableArray array];
          for (int count = atoi(rest); count > 0; count--)
            [list addObject: nextValue()];
          return list;
        }
      case 'D':
        {
          NSMutableDictionary *dictionary = [NSMutableDictionary dictionary];
          for (int count = atoi(rest); count > 0; count--)
            {
              NSString *key = nextValue();
              [dictionary setObject: nextValue() forKey: key];
            }
          return dictionary;
        }
    }
  fprintf(stderr, "no value begins with %s\n", token);
  exit(2);
}

/// Exits with 0 for false, 1 for true, 2 for an exception. Prints the exception's reason.
static void evaluate(NSString *format, NSArray *arguments, id object)
{
  alarm(secondsForACase);
  NS_DURING
    {
      NSPredicate *predicate = [NSPredicate predicateWithFormat: format argumentArray: arguments];
      if (predicate == nil)
        {
          printf("no predicate");
          fflush(stdout);
          _exit(2);
        }
      _exit([predicate evaluateWithObject: object] ? 1 : 0);
    }
  NS_HANDLER
    {
      NSString *reason = [[localException reason] stringByReplacingOccurrencesOfString: @"\n" withString: @" "];
      printf("%s", [reason UTF8String]);
      fflush(stdout);
      _exit(2);
    }
  NS_ENDHANDLER
}

static void run(const char *key, NSString *format, NSArray *arguments, id object)
{
  printf("%s ", key);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0)
    {
      freopen("/dev/null", "w", stderr);
      printf("error ");
      evaluate(format, arguments, object);
    }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
    printf("timeout");
  else if (WIFSIGNALED(status))
    printf("crash %d", WTERMSIG(status));
  else if (WEXITSTATUS(status) < 2)
    printf(WEXITSTATUS(status) == 1 ? "true" : "false");
  else if (WEXITSTATUS(status) > 2)
    printf("crash %d", WEXITSTATUS(status));
  printf("\n");
  fflush(stdout);
}

int main(void)
{
  NSAutoreleasePool *pool = [NSAutoreleasePool new];
  NSMutableDictionary *objects = [NSMutableDictionary dictionary];
  char *line = NULL;
  size_t capacity = 0;
  while (getline(&line, &capacity, stdin) > 0)
    {
      NSAutoreleasePool *linePool = [NSAutoreleasePool new];
      const char *kind = strtok(line, " \n");
      const char *name = strtok(NULL, " \n");
      if (strcmp(kind, "object") == 0)
        {
          [objects setObject: nextValue() forKey: [NSString stringWithUTF8String: name]];
        }
      else
        {
          id object = [objects objectForKey: [NSString stringWithUTF8String: strtok(NULL, " \n")]];
          NSString *format = nextValue();
          NSArray *arguments = nextValue();
          run(name, format, arguments, object == [NSNull null] ? nil : object);
        }
      [linePool release];
    }
  [pool release];
  return 0;
}
